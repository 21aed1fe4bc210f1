//go:build mutation

package kerneltest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"observer-patch/internal/release"
)

// left are the hooks of set full in the metadata module, the release in which each is left
// out, and the test class that has to notice.
var left = []struct{ hook, version, class string }{
	{"start", "4.1.0", "StartTest"},
	{"initial-isr", "4.1.0", "ControllerTest"},
	{"isr-validation", "4.1.0", "ControllerTest"},
	{"leader-preferred", "4.1.0", "ControllerTest"},
	{"leader", "4.1.0", "ElectionTableTest"},
	{"leader-last-known", "4.0.2", "ElectionTableTest"},
	{"last-sync", "4.1.0", "ElectionTableTest"},
	{"last-sync", "3.6.2", "ElectionTableTest"},
	{"reassignment", "3.7.1", "ReassignmentTest"},
	{"reassignment", "4.1.0", "ReassignmentTest"},
	{"reassignment", "4.3.1", "ReassignmentTest"},
	{"reassignment-cancel", "4.1.0", "ReassignmentTest"},
	{"placement", "4.1.0", "PlacementTest"},
}

func TestSomeTestFailsForEveryHookThatIsLeftOut(t *testing.T) {
	for _, l := range left {
		t.Run(l.hook+"/"+l.version, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
			defer cancel()
			k := newKernel(ctx, t, l.version, release.Full, l.hook)
			folders := []string{"ids", "rules"}
			if slices.Contains(withTestJars, l.version) {
				folders = append(folders, "controller")
			}
			k.compileTests(ctx, t, folders...)
			report, passed := k.junit(ctx, t, l.class)
			require.False(t, passed, "nothing fails without %s", l.hook)
			require.NotEmpty(t, failures(report), report)
			t.Logf("without %s on %s: %s", l.hook, l.version, strings.Join(failures(report), ", "))
		})
	}
}
