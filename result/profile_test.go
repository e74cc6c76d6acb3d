package result

import (
	"strings"
	"testing"
)

func TestProfileCheck(t *testing.T) {
	whole := func() Profile {
		return Profile{WindowSeconds: 1, PeriodSeconds: 0.001, CPUs: []int{1}, Taken: 6, Lost: 1, Names: []string{"a", "b"},
			Tasks: []ProfileTask{{Name: "iperf3", Whose: OfCell, Frames: []ProfileFrame{{-1, 0, 2}, {0, 1, 3}}}}}
	}
	for name, c := range map[string]struct {
		edit func(*Profile)
		want string
	}{
		"whole":                {func(*Profile) {}, ""},
		"none":                 {func(p *Profile) { *p = Profile{Missing: "no perf events"} }, ""},
		"no period":            {func(p *Profile) { p.PeriodSeconds = 0 }, "without a period"},
		"no CPU":               {func(p *Profile) { p.CPUs = nil }, "of 0 CPUs"},
		"a caller behind":      {func(p *Profile) { p.Tasks[0].Frames[0][0] = 1 }, "not before it"},
		"its own caller":       {func(p *Profile) { p.Tasks[0].Frames[1][0] = 1 }, "not before it"},
		"no such name":         {func(p *Profile) { p.Tasks[0].Frames[1][1] = 2 }, "has the name 2"},
		"less than nothing":    {func(p *Profile) { p.Tasks[0].Frames[1][2] = -1 }, "-1 samples"},
		"more than there are":  {func(p *Profile) { p.Tasks[0].Frames[1][2] = 9 }, "tells of 12"},
		"none, with tasks":     {func(p *Profile) { p.Missing = "no perf events" }, "that is missing"},
		"more than CPUs have":  {func(p *Profile) { p.Lost, p.Taken = 2001, 2006 }, "in 1 s of 1 CPUs"},
		"hardly any window":    {func(p *Profile) { p.WindowSeconds = 5e-324 }, "in 5e-324 s of 1 CPUs"},
		"idle tasks":           {func(p *Profile) { p.IdleSeconds = []float64{1} }, ""},
		"without idle tasks":   {func(p *Profile) { p.IdleMissing = "no tracepoints" }, ""},
		"too many idle tasks":  {func(p *Profile) { p.IdleSeconds = []float64{0, 0} }, "1 CPUs with 2 idle tasks"},
		"idle for too long":    {func(p *Profile) { p.IdleSeconds = []float64{1.5} }, "CPU 1 idles for 1.5 s of 1 s"},
		"idle for less than 0": {func(p *Profile) { p.IdleSeconds = []float64{-1} }, "idles for -1 s"},
		"a long reason":        {func(p *Profile) { p.IdleMissing = strings.Repeat("no ", maxProfileReason) }, "too much text"},
		"too deep": {func(p *Profile) {
			for i := range MaxProfileDepth {
				p.Tasks[0].Frames = append(p.Tasks[0].Frames, ProfileFrame{int32(i) + 1, 0, 0})
			}
		}, "deeper than"},
		"too many frames": {func(p *Profile) { p.Tasks[0].Frames = make([]ProfileFrame, MaxProfileFrames+1) }, "more than"},
	} {
		p := whole()
		c.edit(&p)
		err := p.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestProfileIsReadBack(t *testing.T) {
	lines := `{"record":"run","format":1}
{"record":"cell","cell":"A"}
{"record":"profile","cell":"A","block":1,"attempt":1,"node":"b","window_seconds":1,"period_seconds":0.001,"cpus":[1],"taken":3,"tasks":[{"name":"x\u001b","whose":"cell","frames":[[-1,0,3]]}],"names":["tcp_sendmsg"]}
`
	f, err := Decode(strings.NewReader(lines))
	if err != nil || len(f.Profiles) != 1 || f.Profiles[0].Tasks[0].Frames[0] != (ProfileFrame{-1, 0, 3}) || strings.ContainsRune(f.Profiles[0].Tasks[0].Name, 27) {
		t.Errorf("%+v, %v", f.Profiles, err)
	}
	for _, bad := range []string{`"cell":"B"`, `"cell":"A","taken":1`} {
		if _, err := Decode(strings.NewReader(lines + `{"record":"profile",` + bad + "}\n")); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
