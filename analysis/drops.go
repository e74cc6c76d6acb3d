package analysis

import (
	"windtunnel/result"
	"windtunnel/stats"
)

// drops are a cell's named losses, a trial's mean by name.
func drops(trials []result.Trial) map[string]result.Figure { return named(trials, trialDrops) }

// switchCounts are what else its switches count.
func switchCounts(trials []result.Trial) map[string]result.Figure { return named(trials, trialCounts) }

// named are means of a trial's counts. A name that counted nothing in any trial is left out.
func named(trials []result.Trial, of func(result.Trial) map[string]uint64) map[string]result.Figure {
	names := map[string]bool{}
	each := make([]map[string]uint64, len(trials))
	for i, t := range trials {
		each[i] = of(t)
		for name, n := range each[i] {
			names[name] = names[name] || n > 0
		}
	}
	figures := map[string]result.Figure{}
	for name, counted := range names {
		if !counted {
			continue
		}
		samples := make([]float64, len(each))
		for i, counts := range each {
			samples[i] = float64(counts[name])
		}
		figures[name] = stats.Mean(samples)
	}
	return figures
}

func trialDrops(t result.Trial) map[string]uint64 {
	all := map[string]uint64{}
	for _, p := range t.Pairs {
		for _, way := range p.Ways() {
			place := p.To
			if way.Back {
				place = p.From
			}
			if a := way.Receiver.Arrived; a != nil {
				all[place+" socket buffer"] += a.SocketDrops
			}
		}
	}
	for node, s := range t.Nodes {
		for _, l := range s.Links {
			link := l.Place + " " + l.Device + " "
			all[link+"rx_dropped"] += l.RxDropped
			all[link+"tx_dropped"] += l.TxDropped
			all[link+"rx_errors"] += l.RxErrors
			all[link+"tx_errors"] += l.TxErrors
		}
		for _, k := range s.Stacks {
			all[k.Place+" ip in_discards"] += k.InDiscards
			all[k.Place+" ip in_no_routes"] += k.InNoRoutes
			all[k.Place+" ip in_csum_errors"] += k.InCsumErrors
			all[k.Place+" tcp listen_drops"] += k.ListenDrops
		}
		for _, w := range s.Switches {
			for name, n := range w.Drops {
				all[w.Switch+" "+name] += n
			}
		}
		all[node+" softnet dropped"] += s.Softnet.Dropped
	}
	return all
}

func trialCounts(t result.Trial) map[string]uint64 {
	all := map[string]uint64{}
	for _, s := range t.Nodes {
		for _, w := range s.Switches {
			for name, n := range w.Counts {
				all[w.Switch+" "+name] += n
			}
		}
	}
	return all
}

// unaccounted is the number of packets that the trials' switches received and
// neither sent on nor named as dropped, and the number they received.
func unaccounted(trials []result.Trial) (lost, received float64) {
	for _, t := range trials {
		for _, s := range t.Nodes {
			for _, w := range s.Switches {
				if w.Error != "" || w.Received == 0 {
					continue // it does not count all packets, or saw none
				}
				known := float64(w.Sent)
				for _, n := range w.Drops {
					known += float64(n)
				}
				lost += float64(w.Received) - known
				received += float64(w.Received)
			}
		}
	}
	return lost, received
}
