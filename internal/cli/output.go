package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/jedib0t/go-pretty/v6/table"
)

// encode writes a value as json or yaml; done says that the format was one of the two.
func encode(w io.Writer, format string, value any) (done bool, err error) {
	switch format {
	case "json":
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return true, e.Encode(value)
	case "yaml":
		text, err := yaml.MarshalWithOptions(value, yaml.UseJSONMarshaler())
		if err != nil {
			return true, err
		}
		_, err = w.Write(text)
		return true, err
	}
	return false, nil
}

// printRows prints a result as a table without frames, as JSON or as YAML. The names in
// JSON and YAML are the same.
func printRows[T any](w io.Writer, format string, rows []T, fill func(table.Writer, []T)) error {
	if done, err := encode(w, format, rows); done {
		return err
	}
	t := table.NewWriter()
	t.SetStyle(plainTable())
	fill(t, rows)
	for _, line := range strings.Split(t.Render(), "\n") {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " ")); err != nil {
			return err
		}
	}
	return nil
}

func plainTable() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft = ""
	s.Box.PaddingRight = "  "
	s.Format.Header = 0
	return s
}
