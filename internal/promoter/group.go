package promoter

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"observer-patch/internal/observer"
)

// Requester sends a request to whichever broker has to answer it; cluster.Client does.
type Requester interface {
	Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
}

// GroupLock is a lock on the cluster across machines: being the leader of a consumer group that
// has no topics. The group's coordinator keeps one leader, with a generation that grows; who does
// not send heartbeats for a session is out, and is refused from then on. So a holder that was
// paused or cut off finds out by asking before it acts, which is what Check does. A change that
// happened between the question and a write is found by the write itself: it replaces a file only
// when it is what was read.
//
// A coordinator writes to __consumer_offsets, which is under its own minimum when most of the
// cluster is lost, and then nothing that has to be written is answered. From 4.0 on that is true of
// heartbeats too: an answer waits until everything that the coordinator wrote before it, for any
// group, is committed (upstream's CoordinatorRuntime.append). What is answered at once, from the
// coordinator's memory and on all releases, is the JoinGroup of a member that it knows (upstream's
// classicGroupJoinExistingMember, and GroupCoordinator.doCurrentMemberJoinGroup before 4.0). It
// says who leads, so it serves as the question where a heartbeat gets no answer.
//
// There are three grounds for acting, see Check: the membership is written, or the coordinator's
// memory has it, or it was written and its session, in which nobody else can get it, is not over.
// The last two are enough for a promotion only.
//
// It needs READ on the group. Keep has to run beside it. Give it a client of its own: requests that
// wait for a coordinator hold up what is sent behind them.
type GroupLock struct {
	client  Requester
	group   string
	session time.Duration
	now     func() time.Time

	mu         sync.Mutex
	member     string
	generation int32
	// leads says that the last that was heard is that this member leads its generation.
	leads bool
	// written says that this generation is in the log; known that the member is, with this or an
	// earlier one: a coordinator that takes over finds it there, and waits a session for it.
	written, known bool
	// until is the end of the session, less a margin, that the last answered heartbeat began.
	until time.Time
}

const groupProtocol = "observer-patch"

// ErrNotHeld says that another instance, or nobody, holds the lock.
var ErrNotHeld = errors.New("the lock on the cluster is not held")

// NewGroupLock makes the lock; session is how long a holder may be silent, at least the brokers'
// group.min.session.timeout.ms (6 s).
func NewGroupLock(client Requester, group string, session time.Duration) *GroupLock {
	return &GroupLock{client: client, group: group, session: session, now: time.Now}
}

// quick bounds a question to a coordinator that knows this member. A client goes on asking a dead
// one for longer than a session.
func (l *GroupLock) quick() time.Duration { return l.session / 15 }

// patient bounds taking the lock: a coordinator that cannot write answers a first JoinGroup after
// offsets.commit.timeout.ms (5 s), and the next one at once.
func (l *GroupLock) patient() time.Duration { return l.session / 3 }

// Check makes sure that this instance may make the change now, and tries to get the lock when it
// has not got it. It gives ErrNotHeld, with the reason, when another instance has the lock or a
// demotion would need more than there is, and any other error when the coordinator could not be
// asked: then it may not be made either.
//
// A promotion adds a replica that has every committed record, so two of them at the same moment
// contradict nobody. For it, it is enough that the coordinator says that this instance leads, also
// when it cannot write that down; or that it said so of a written membership less than a session
// ago and cannot be asked now: whichever broker takes over has read the membership, and gives the
// lock to nobody else before a session is over. A demotion takes one away: it needs an answer, and
// the membership in the log.
func (l *GroupLock) Check(ctx context.Context, change observer.Change) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.ask(ctx)
	switch {
	case change != observer.Promote && err == nil && !l.written:
		return fmt.Errorf("%w in writing: the coordinator says that this instance has it, and cannot write that to __consumer_offsets, which is enough for a promotion only", ErrNotHeld)
	case change == observer.Promote && err != nil && !errors.Is(err, ErrNotHeld) && l.known && l.now().Before(l.until):
		return nil
	}
	return err
}

// ask wants the coordinator to say now that this member leads, from what is written or from its
// memory.
func (l *GroupLock) ask(ctx context.Context) error {
	if !l.leads {
		return l.take(ctx)
	}
	if l.written {
		began := l.now()
		err := l.heartbeat(ctx, l.member, l.generation)
		switch {
		case err == nil:
			l.until = began.Add(l.session - l.session/6)
			return nil
		case gone(err):
			l.forget()
			return fmt.Errorf("%w any more: %w", ErrNotHeld, err)
		}
		// Somebody joined, the coordinator knows an older generation, or it gives no answer.
	}
	return l.join(ctx, l.quick())
}

// gone says that the coordinator does not know the member.
func gone(err error) bool {
	return errors.Is(err, kerr.UnknownMemberID) || errors.Is(err, kerr.FencedInstanceID)
}

func (l *GroupLock) forget() {
	l.member, l.leads, l.written, l.known, l.until = "", false, false, false, time.Time{}
}

// take gets the lock when nobody has it. Where that cannot be written it leads all the same.
func (l *GroupLock) take(ctx context.Context) error {
	if err := l.free(ctx); err != nil {
		return err
	}
	if err := l.join(ctx, l.patient()); err != nil {
		return err
	}
	began := l.now()
	err := l.sync(ctx, l.member, l.generation)
	switch {
	case err == nil:
		l.written, l.known, l.until = true, true, began.Add(l.session-l.session/6)
	case gone(err), errors.Is(err, kerr.RebalanceInProgress), errors.Is(err, kerr.IllegalGeneration):
		return fmt.Errorf("%w: somebody else joined at the same time: %w", ErrNotHeld, err)
	}
	return nil
}

// Keep keeps a lock that is held, so that a long action does not lose it, and has one written down
// that is not, as soon as the coordinator can. When ctx ends it gives the lock back.
func (l *GroupLock) Keep(ctx context.Context) {
	tick := time.NewTicker(l.session / 10)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.leads {
				l.leave(context.WithoutCancel(ctx))
			}
			return
		case <-tick.C:
			l.keep(ctx)
		}
	}
}

func (l *GroupLock) keep(ctx context.Context) {
	l.mu.Lock()
	if l.leads && l.written {
		_ = l.ask(ctx) // whoever acts asks again
	}
	member, generation, open := l.member, l.generation, l.leads && !l.written
	l.mu.Unlock()
	if !open {
		return
	}
	// A heartbeat counts when it arrives, answered or not. An answer means that nothing waits to be
	// written. Nobody who wants to act waits for these two.
	if err := l.heartbeat(ctx, member, generation); err != nil {
		var refused *kerr.Error
		if errors.As(err, &refused) {
			l.mu.Lock()
			_ = l.ask(ctx)
			l.mu.Unlock()
		}
		return
	}
	began := l.now()
	if l.sync(ctx, member, generation) != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.leads && l.member == member && l.generation == generation {
		l.written, l.known, l.until = true, true, began.Add(l.session-l.session/6)
	}
}
