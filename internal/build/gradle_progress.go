package build

import (
	"fmt"
	"regexp"
	"sync"
	"time"
)

// taskLine is what Gradle prints for a task with --console=plain, before and since 4.7.
var taskLine = regexp.MustCompile(`^(?:> Task )?(:[\w:.-]+)(?: (?:UP-TO-DATE|NO-SOURCE|FROM-CACHE|SKIPPED|FAILED))?\s*$`)

// stillAfter is how long a task may run before people are told that it still does.
const stillAfter = 30 * time.Second

// gradleProgress tells which task runs, and that a long one still does.
type gradleProgress struct {
	say   func(string)
	began time.Time
	stop  chan struct{}
	done  sync.WaitGroup

	mu    sync.Mutex
	tasks int
	last  string
}

func newGradleProgress(say func(string)) *gradleProgress {
	p := &gradleProgress{say: say, began: time.Now(), stop: make(chan struct{})}
	if say == nil {
		p.say = func(string) {}
	}
	tick := time.NewTicker(stillAfter)
	p.done.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-p.stop:
				return
			case <-tick.C:
				p.still()
			}
		}
	})
	return p
}

func (p *gradleProgress) line(text string) {
	m := taskLine.FindStringSubmatch(text)
	if m == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks, p.last = p.tasks+1, m[1]
	p.say(fmt.Sprintf("gradle %s (task %d)", p.last, p.tasks))
}

func (p *gradleProgress) still() {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.last
	if at == "" {
		at = "before its first task"
	}
	p.say(fmt.Sprintf("gradle still at %s, %s since its start", at, time.Since(p.began).Round(time.Second)))
}

func (p *gradleProgress) end() {
	close(p.stop)
	p.done.Wait()
}
