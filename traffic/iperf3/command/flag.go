package command

// role is the end that a flag is for.
type role byte

const (
	ofBoth   role = 0
	ofServer role = 's'
	ofClient role = 'c'
)

// flag is one flag of iperf3's command line (iperf3(1) of 3.21).
type flag struct {
	long     string
	older    []string // long names that still work
	short    byte     // 0: none
	takes    string   // what its value is called; "": it takes none
	optional bool     // the value may be left out; it is joined by = then
	role     role
	says     string
	// set keeps the value; refuses says instead why the flag cannot be had, and
	// what comes nearest.
	set     func(s *settings, value string) error
	refuses string
}

func (f *flag) longs() []string { return append([]string{f.long}, f.older...) }

// name is how messages call a flag: both forms.
func (f *flag) name() string {
	if f.short == 0 {
		return "--" + f.long
	}
	return "-" + string(f.short) + " (--" + f.long + ")"
}

// allFlags are the flags in the order of the help.
func allFlags() []*flag {
	all := append(bothFlags(), outputFlags()...)
	all = append(all, serverFlags()...)
	all = append(all, clientFlags()...)
	all = append(all, shapeFlags()...)
	return append(all, refusedFlags()...)
}
