package report

import (
	"encoding/xml"
	"io"

	"windtunnel/analysis"
)

// JUnit's XML has no standard of its own; these are the elements and attributes that Jenkins' JUnit plugin, GitLab and
// GitHub's reporters read (the schema of Apache Ant's JUnitReport task, and `skipped`). A figure is a test. Only a gate
// that an interval breaks fails it; what could not be compared, or not be decided, was skipped, with its reason; runs that may not
// be compared at all are an error.
type junitSuites struct {
	XMLName  xml.Name   `xml:"testsuites"`
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Suite    junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name       string          `xml:"name,attr"`
	Tests      int             `xml:"tests,attr"`
	Failures   int             `xml:"failures,attr"`
	Errors     int             `xml:"errors,attr"`
	Skipped    int             `xml:"skipped,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
	Out        string          `xml:"system-out,omitempty"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Class   string    `xml:"classname,attr"`
	Name    string    `xml:"name,attr"`
	Failure *junitWhy `xml:"failure"`
	Error   *junitWhy `xml:"error"`
	Skipped *junitWhy `xml:"skipped"`
	Out     string    `xml:"system-out,omitempty"`
}

type junitWhy struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
}

func writeJUnit(w io.Writer, c analysis.Compared, _ Options) error {
	s := junitSuite{Name: c.After.Suite, Timestamp: c.After.StartedAt, Properties: []junitProperty{
		{"first run", c.Before.ID}, {"second run", c.After.ID}, {"first version", c.Before.Version}, {"second version", c.After.Version},
	}}
	if c.Forbidden != "" {
		s.Cases = append(s.Cases, junitCase{Class: c.After.Suite, Name: "the runs may be compared", Error: &junitWhy{c.Forbidden, "not-comparable"}})
	}
	for _, cell := range c.Cells {
		s.Cases = append(s.Cases, junitCases(c, cell)...)
	}
	for _, d := range c.Doubts {
		s.Out += plainText(d.Says) + "\n"
	}
	for _, one := range s.Cases {
		s.Tests++
		switch {
		case one.Failure != nil:
			s.Failures++
		case one.Error != nil:
			s.Errors++
		case one.Skipped != nil:
			s.Skipped++
		}
	}
	all := junitSuites{Name: comparedTitle(c), Tests: s.Tests, Failures: s.Failures, Errors: s.Errors, Skipped: s.Skipped, Suite: s}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	encoder := xml.NewEncoder(w)
	encoder.Indent("", "  ")
	if err := encoder.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// junitCases are a cell's figures, or the cell itself where it was not compared.
func junitCases(c analysis.Compared, cell analysis.ComparedCell) []junitCase {
	class := c.After.Suite + "." + cell.Name
	if cell.Reason != "" {
		return []junitCase{{Class: class, Name: "compared", Skipped: &junitWhy{Message: cell.Reason}}}
	}
	var cases []junitCase
	for _, f := range cell.Figures {
		one := junitCase{Class: class, Name: f.Metric.Word(), Out: f.Verdict}
		switch f.Gate {
		case analysis.GateBroken:
			one.Failure = &junitWhy{f.Verdict, "gate"}
		case analysis.GateUndecided:
			one.Skipped = &junitWhy{Message: "undecided: " + f.Verdict}
		case analysis.GateUnjudged:
			one.Skipped = &junitWhy{Message: f.Verdict}
		}
		cases = append(cases, one)
	}
	return cases
}
