package maven

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"
)

// progress tells people how far mvn is: a bar on a terminal, else a line at both ends.
type progress struct {
	out   io.Writer
	files int
	bars  *mpb.Progress
	bar   *mpb.Bar
}

func startProgress(out io.Writer, files int, bytes int64) *progress {
	p := &progress{out: out, files: files}
	if out == nil {
		return p
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bars = mpb.New(mpb.WithOutput(out), mpb.WithWidth(40))
		p.bar = p.bars.AddBar(int64(files), mpb.BarRemoveOnComplete(),
			mpb.PrependDecorators(decor.Name("mvn ")),
			mpb.AppendDecorators(decor.CountersNoUnit("%d/%d files"), decor.Name(fmt.Sprintf(", %.1f MB", float64(bytes)/1e6))))
		return p
	}
	size := ""
	if bytes > 0 {
		size = fmt.Sprintf(" (%.1f MB)", float64(bytes)/1e6)
	}
	fmt.Fprintf(out, "fetching %d files%s with mvn\n", files, size)
	return p
}

// line counts the dependency plugin's "Copying a.jar to b" lines.
func (p *progress) line(text string) {
	if !strings.Contains(text, "Copying ") {
		return
	}
	if p.bar != nil {
		p.bar.Increment()
	}
}

func (p *progress) end(done bool) {
	if p.bars != nil {
		p.bar.Abort(true)
		p.bars.Wait()
		return
	}
	if p.out != nil && done {
		fmt.Fprintf(p.out, "fetched %d files\n", p.files)
	}
}
