package promoter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The requests of a member of the lock's group; the caller holds the lock's mutex, but for
// heartbeat and sync.

// free tells whether joining would disturb nobody: a group with a member has a holder.
func (l *GroupLock) free(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, l.patient())
	defer cancel()
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
// What was written before is not this generation's any more.
func (l *GroupLock) join(ctx context.Context, limit time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for range 2 {
		req := kmsg.NewPtrJoinGroupRequest()
		req.Group, req.MemberID, req.ProtocolType = l.group, l.member, groupProtocol
		req.SessionTimeoutMillis = int32(l.session / time.Millisecond)
		// Who has not answered a generation with SyncGroup, which has to be written, is thrown out
		// after this time, heartbeats or not.
		req.RebalanceTimeoutMillis = 20 * req.SessionTimeoutMillis
		p := kmsg.NewJoinGroupRequestProtocol()
		p.Name = "lock"
		req.Protocols = append(req.Protocols, p)
		r, err := l.client.Request(limited, req)
		if err != nil {
			return fmt.Errorf("join the lock's group: %w", err)
		}
		resp := r.(*kmsg.JoinGroupResponse)
		err = kerr.ErrorForCode(resp.ErrorCode)
		switch {
		case errors.Is(err, kerr.MemberIDRequired):
			l.member = resp.MemberID
			continue
		case gone(err):
			l.forget()
			return fmt.Errorf("%w any more: %w", ErrNotHeld, err)
		case err != nil:
			return fmt.Errorf("join the lock's group: %w", err)
		case resp.LeaderID != resp.MemberID:
			l.member = resp.MemberID
			l.leave(ctx)
			return fmt.Errorf("%w: member %s of group %s was first", ErrNotHeld, resp.LeaderID, l.group)
		}
		if l.member != resp.MemberID || l.generation != resp.Generation || !l.leads {
			l.written = false
		}
		l.member, l.generation, l.leads = resp.MemberID, resp.Generation, true
		return nil
	}
	return fmt.Errorf("join the lock's group: the coordinator asks for a member id again and again")
}

func (l *GroupLock) heartbeat(ctx context.Context, member string, generation int32) error {
	ctx, cancel := context.WithTimeout(ctx, l.quick())
	defer cancel()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.Generation, req.MemberID = l.group, generation, member
	r, err := l.client.Request(ctx, req)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(r.(*kmsg.HeartbeatResponse).ErrorCode)
}

// sync has the membership written down.
func (l *GroupLock) sync(ctx context.Context, member string, generation int32) error {
	ctx, cancel := context.WithTimeout(ctx, l.quick())
	defer cancel()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.Generation, req.MemberID = l.group, generation, member
	protocol, name := groupProtocol, "lock"
	req.ProtocolType, req.Protocol = &protocol, &name
	a := kmsg.NewSyncGroupRequestGroupAssignment()
	a.MemberID = member
	req.GroupAssignment = append(req.GroupAssignment, a)
	r, err := l.client.Request(ctx, req)
	if err == nil {
		err = kerr.ErrorForCode(r.(*kmsg.SyncGroupResponse).ErrorCode)
	}
	if err != nil {
		return fmt.Errorf("sync the lock's group: %w", err)
	}
	return nil
}

// leave gives the membership back; nobody is told when that fails, the session ends by itself.
func (l *GroupLock) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.quick())
	defer cancel()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID = l.group, l.member
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID = l.member
	req.Members = append(req.Members, m)
	_, _ = l.client.Request(ctx, req)
	l.forget()
}
