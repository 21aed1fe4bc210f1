package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	observerpatch "observer-patch"
	"observer-patch/internal/cli"
)

const date = "2026-01-02T03:04:05Z"

func TestEveryCommandHasAPageAndTheSameOneEachTime(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	require.NoError(t, run([]string{"docs", first, date}))
	require.NoError(t, run([]string{"docs", second, date}))
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.IsAvailableCommand() || !c.HasParent() {
			name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
			page, err := os.ReadFile(filepath.Join(first, "man", "man1", name))
			require.NoError(t, err)
			again, err := os.ReadFile(filepath.Join(second, "man", "man1", name))
			require.NoError(t, err)
			require.Equal(t, string(page), string(again))
			require.Contains(t, string(page), "Jan 2026", name)
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cli.Commands(&cli.Env{Out: io.Discard, Err: io.Discard, Data: observerpatch.Data()}))
	for _, name := range []string{"observer-patch.bash", "_observer-patch", "observer-patch.fish"} {
		text, err := os.ReadFile(filepath.Join(first, "completions", name))
		require.NoError(t, err)
		require.Contains(t, string(text), "__complete", name)
	}
}

func TestThePartsListNamesWhatABinaryWasLinkedFrom(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	var first, second bytes.Buffer
	require.NoError(t, sbom(&first, self, "1.2.3"))
	require.NoError(t, sbom(&second, self, "1.2.3"))
	require.Equal(t, first.String(), second.String())
	var bom cdx.BOM
	require.NoError(t, cdx.NewBOMDecoder(&first, cdx.BOMFileFormatJSON).Decode(&bom))
	var urls []string
	for _, c := range *bom.Components {
		urls = append(urls, c.PackageURL)
	}
	require.Contains(t, strings.Join(urls, "\n"), "pkg:golang/github.com/spf13/cobra@v")
	require.Error(t, sbom(io.Discard, "main.go", "1.2.3"), "no binary")
}

func TestWrongWordsAreAnError(t *testing.T) {
	require.ErrorContains(t, run(nil), "usage")
	require.Error(t, run([]string{"docs", t.TempDir(), "yesterday"}))
}
