//go:build mutation

package kerneltest_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
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
	{"elr-assignment", "4.1.0", "ReassignmentTest"},
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
			missed(t, l.hook, l.version, failures(report))
		})
	}
}

var mutations = flag.String("mutations", "", "folder for one line per hook that was missed; empty: none")

// missed logs who missed a hook, and writes it as a line of a table.
func missed(t *testing.T, hook, version string, missedBy []string) {
	t.Helper()
	t.Logf("without %s on %s: %s", hook, version, strings.Join(missedBy, ", "))
	if *mutations == "" {
		return
	}
	line := fmt.Sprintf("| %s | %s | %s | %s |\n", hook, version, strings.Join(missedBy, ", "), time.Now().UTC().Format("2006-01-02 15:04"))
	require.NoError(t, os.MkdirAll(*mutations, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(*mutations, hook+"-"+version+".row"), []byte(line), 0o644))
}
