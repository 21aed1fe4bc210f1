package sentinel

import (
	"encoding/json"
	"slices"
	"strings"
)

// The part of SARIF 2.1.0 (OASIS, errata 01) that a report needs.
type sarifLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

type sarifRun struct {
	Tool struct {
		Driver sarifDriver `json:"driver"`
	} `json:"tool"`
	ColumnKind string        `json:"columnKind"`
	Results    []sarifResult `json:"results"`
}

type sarifDriver struct {
	Name    string      `json:"name"`
	Version string      `json:"version"`
	Rules   []sarifRule `json:"rules"`
}

type sarifRule struct {
	ID    string       `json:"id"`
	Short sarifMessage `json:"shortDescription"`
}

type sarifMessage struct {
	Text string `json:"text"`
}

type sarifResult struct {
	Rule      string            `json:"ruleId"`
	Index     int               `json:"ruleIndex"`
	Level     string            `json:"level"`
	Message   sarifMessage      `json:"message"`
	Locations []sarifLocation   `json:"locations"`
	Prints    map[string]string `json:"partialFingerprints"`
}

type sarifLocation struct {
	Physical sarifPhysical `json:"physicalLocation"`
}

type sarifPhysical struct {
	Artifact sarifArtifact `json:"artifactLocation"`
	Region   sarifRegion   `json:"region"`
}

type sarifArtifact struct {
	URI  string `json:"uri"`
	Base string `json:"uriBaseId"`
}

type sarifRegion struct {
	StartLine int `json:"startLine"`
}

const (
	// sarifSchema is the schema's own address in the standard.
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	// sourceRoot is how code scanning calls the root of the repository.
	sourceRoot = "%SRCROOT%"
)

var ruleTexts = map[string]string{
	"anchor-moved":            "The anchored lines left the hook's scope",
	"anchor-renamed":          "The anchored lines have another wording",
	"anchor-duplicated":       "The anchor matches more than once",
	"anchor-deleted":          "Nothing like the anchored lines is left",
	"anchor-already-upstream": "Upstream has the hook's own lines",
	"anchor-already-patched":  "The tree is patched already",
	"anchor-no-file":          "Upstream's file is gone",
	"anchor-no-place":         "No place of the hook is for this release",
	"newcomer":                "A release or branch of upstream that could not be tried",
}

// SARIF gives the findings for code scanning: a miss points at the anchor's line in the catalog.
func (r Report) SARIF() ([]byte, error) {
	run := sarifRun{ColumnKind: "utf16CodeUnits", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "observer-patch sentinel", Version: r.Tool, Rules: []sarifRule{}}
	for _, f := range r.findings() {
		i := slices.IndexFunc(run.Tool.Driver.Rules, func(x sarifRule) bool { return x.ID == f.rule })
		if i < 0 {
			text, ok := ruleTexts[f.rule]
			if !ok {
				text = "The step '" + f.rule + "' went wrong"
			}
			i = len(run.Tool.Driver.Rules)
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, sarifRule{f.rule, sarifMessage{text}})
		}
		var at sarifLocation
		at.Physical.Artifact = sarifArtifact{URI: f.file, Base: sourceRoot}
		at.Physical.Region.StartLine = f.line
		run.Results = append(run.Results, sarifResult{Rule: f.rule, Index: i, Level: "error",
			Message: sarifMessage{f.text + " (" + strings.Join(f.of, ", ") + ")"}, Locations: []sarifLocation{at},
			Prints: map[string]string{"finding/v1": f.rule + " " + f.file + " " + f.text}})
	}
	return indented(sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// JSON gives the report itself.
func (r Report) JSON() ([]byte, error) { return indented(r) }

func indented(v any) ([]byte, error) {
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}
