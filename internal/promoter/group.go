package promoter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requester sends a request to whichever broker has to answer it; cluster.Client does.
type Requester interface {
	Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// GroupLock is a lock on the cluster across machines: being the leader of a consumer group that
// has no topics. The group's coordinator keeps one leader, with a generation that grows; who does
// not send heartbeats for a session is out, and every later heartbeat of his old generation is
// refused. So a holder that was paused or cut off finds out by asking before it acts, which is
// what Check does. A change that happened between the question and a write is found by the write
// itself: it replaces a file only when it is what was read.
//
// A held lock outlives a coordinator that moves: only joining writes to __consumer_offsets. It
// needs READ on the group.
type GroupLock struct {
	client  Requester
	group   string
	session time.Duration

	mu         sync.Mutex
	member     string
	generation int32
	// held says that the last that was heard is that this member leads its generation.
	held bool
}

const groupProtocol = "observer-patch"

// ErrNotHeld says that another instance, or nobody, holds the lock.
var ErrNotHeld = errors.New("the lock on the cluster is not held")

// NewGroupLock makes the lock; session is how long a holder may be silent, at least the brokers'
// group.min.session.timeout.ms (6 s).
func NewGroupLock(client Requester, group string, session time.Duration) *GroupLock {
	return &GroupLock{client: client, group: group, session: session}
}

// Check makes sure that this instance holds the lock now, and tries to get it when it does not. It
// gives ErrNotHeld, with the reason, when another one has it, and any other error when the
// coordinator could not be asked: then it is not held either.
func (l *GroupLock) Check(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		err := l.heartbeat(ctx)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, kerr.RebalanceInProgress): // somebody joined: join again, still the leader
		case fenced(err):
			l.member, l.held = "", false
			return fmt.Errorf("%w any more: %w", ErrNotHeld, err)
		default:
			// The membership may well be alive, with a coordinator that is moving: the next
			// heartbeat tells. Joining anew would need a write, which is what may not work now.
			return fmt.Errorf("heartbeat of the lock: %w", err)
		}
	} else if err := l.free(ctx); err != nil {
		return err
	}
	return l.join(ctx)
}

func fenced(err error) bool {
	return errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.IllegalGeneration) || errors.Is(err, kerr.FencedInstanceID)
}

// heartbeat waits for a sixth of a session at most: the client goes on asking a coordinator that is dead for longer than a
// session, which would lose a membership that another coordinator keeps, and getting it anew takes a write.
func (l *GroupLock) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.session/6)
	defer cancel()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = l.group, l.generation, l.member
	r, err := l.client.Request(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.HeartbeatResponse).ErrorCode)
}

// free tells whether joining would disturb nobody: a group with a member has a holder.
func (l *GroupLock) free(ctx context.Context) error {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{l.group}
	r, err := l.client.Request(ctx, req)
	if err != nil {
		return fmt.Errorf("describe the lock's group: %w", err)
	}
	for _, g := range r.(*kmsg.DescribeGroupsResponse).Groups {
		err := kerr.ErrorForCode(g.ErrorCode)
		if errors.Is(err, kerr.GroupIDNotFound) {
			continue
		}
		if err != nil {
			return fmt.Errorf("describe the lock's group: %w", err)
		}
		for _, m := range g.Members {
			if m.MemberID != l.member {
				return fmt.Errorf("%w: member %s of group %s at %s has it", ErrNotHeld, m.MemberID, l.group, m.ClientHost)
			}
		}
	}
	return nil
}

// join joins the group, twice where the coordinator wants the member to come back with its new id.
func (l *GroupLock) join(ctx context.Context) error {
	l.held = false
	for range 2 {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = l.group, l.member, groupProtocol
		req.SessionTimeoutMillis = int32(l.session / time.Millisecond)
		req.RebalanceTimeoutMillis = req.SessionTimeoutMillis
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = "lock"
		req.Protocols = append(req.Protocols, p)
		r, err := l.client.Request(ctx, req)
		if err != nil {
			return fmt.Errorf("join the lock's group: %w", err)
		}
		resp := r.(*kmsg.JoinGroupResponse)
		err = kerr.ErrorForCode(resp.ErrorCode)
		if errors.Is(err, kerr.MemberIDRequired) {
			l.member = resp.MemberID
			continue
		}
		if err != nil {
			l.member = ""
			return fmt.Errorf("join the lock's group: %w", err)
		}
		l.member, l.generation = resp.MemberID, resp.Generation
		if resp.LeaderID != resp.MemberID {
			l.leave(ctx)
			return fmt.Errorf("%w: member %s of group %s was first", ErrNotHeld, resp.LeaderID, l.group)
		}
		return l.sync(ctx)
	}
	return fmt.Errorf("join the lock's group: the coordinator asks for a member id again and again")
}

func (l *GroupLock) sync(ctx context.Context) error {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID = l.group, l.generation, l.member
	protocol, name := groupProtocol, "lock"
	req.ProtocolType, req.Protocol = &protocol, &name
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID = l.member
	req.GroupAssignment = append(req.GroupAssignment, a)
	r, err := l.client.Request(ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(r.(*kmsg.SyncGroupResponse).ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("sync the lock's group: %w", err)
	}
	l.held = true
	return nil
}

// leave gives the membership back; nobody is told when that fails, the session ends by itself.
func (l *GroupLock) leave(ctx context.Context) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = l.group, l.member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = l.member
	req.Members = append(req.Members, m)
	_, _ = l.client.Request(ctx, req)
	l.member, l.held = "", false
}

// Keep sends heartbeats until ctx ends, so that a long action does not lose the lock, and then
// gives the lock back.
func (l *GroupLock) Keep(ctx context.Context) {
	tick := time.NewTicker(l.session / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.held {
				l.leave(end)
			}
			return
		case <-tick.C:
			l.mu.Lock()
			held := l.held
			l.mu.Unlock()
			if held {
				_ = l.Check(ctx) // whoever acts asks again
			}
		}
	}
}
