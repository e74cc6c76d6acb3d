package measure

// Rule is what drops packets of a link by itself, a firewall's rule or a token bucket, and names them. It is in a
// sample among the switches. Read is called from any thread.
type Rule struct {
	Name string // rule a/nic0
	Drop string // what its drops are called
	Read func() (passed, dropped uint64, err error)
}

func readRule(r Rule) (switchReading, error) {
	passed, dropped, err := r.Read()
	if err != nil {
		return switchReading{}, err
	}
	return switchReading{received: passed + dropped, sent: passed, drops: map[string]uint64{r.Drop: dropped}}, nil
}
