package sentinel

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// The JUnit form that CI engines read (the schema of Ant's JUnit task with testsuites around it).
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Name     string       `xml:"name,attr"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Skipped  int          `xml:"skipped,attr"`
	Time     string       `xml:"time,attr"`
	Suites   []junitSuite `xml:"testsuite"`

	seconds float64
}

type junitSuite struct {
	Name      string      `xml:"name,attr"`
	Tests     int         `xml:"tests,attr"`
	Failures  int         `xml:"failures,attr"`
	Errors    int         `xml:"errors,attr"`
	Skipped   int         `xml:"skipped,attr"`
	Time      string      `xml:"time,attr"`
	Timestamp string      `xml:"timestamp,attr"`
	Cases     []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name    string        `xml:"name,attr"`
	Class   string        `xml:"classname,attr"`
	Time    string        `xml:"time,attr"`
	Skipped *junitMessage `xml:"skipped,omitempty"`
	Error   *junitMessage `xml:"error,omitempty"`
	Failure *junitMessage `xml:"failure,omitempty"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// JUnit gives a suite for each target and newcomer, a case for each step. Drift and a proof
// that does not hold are failures, anything else that went wrong is an error.
func (r Report) JUnit() ([]byte, error) {
	all := junitSuites{Name: "observer-patch sentinel"}
	for _, t := range r.Targets {
		all.add(suite(t, t.Target, r.Started))
	}
	for _, n := range r.Newcomers {
		for _, t := range n.Targets {
			all.add(suite(t, n.Name+" "+t.Target, r.Started))
		}
		if len(n.Targets) == 0 {
			all.add(suite(Result{Steps: []StepResult{{Step: Source, Status: n.Status, Detail: n.Verdict}}}, n.Name, r.Started))
		}
	}
	all.Time = seconds(all.seconds)
	text, err := xml.MarshalIndent(all, "", "  ")
	return append([]byte(xml.Header), append(text, '\n')...), err
}

func (a *junitSuites) add(s junitSuite, time float64) {
	a.Tests, a.Failures, a.Errors, a.Skipped = a.Tests+s.Tests, a.Failures+s.Failures, a.Errors+s.Errors, a.Skipped+s.Skipped
	a.seconds += time
	a.Suites = append(a.Suites, s)
}

func suite(t Result, name, started string) (junitSuite, float64) {
	s := junitSuite{Name: name, Timestamp: strings.TrimSuffix(started, "Z")}
	total := 0.0
	for _, step := range t.Steps {
		c := junitCase{Name: string(step.Step), Class: name, Time: seconds(step.Seconds)}
		total += step.Seconds
		m := &junitMessage{Message: firstLine(step.Detail), Type: string(step.Status), Text: step.Detail}
		s.Tests++
		switch step.Status {
		case Passed:
		case Skipped:
			s.Skipped++
			c.Skipped = &junitMessage{Message: step.Detail}
		case Failed:
			s.Errors++
			c.Error = m
		default:
			s.Failures++
			c.Failure = m
		}
		s.Cases = append(s.Cases, c)
	}
	s.Time = seconds(total)
	return s, total
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
