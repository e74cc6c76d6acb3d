package agent

import (
	"context"

	"windtunnel/traffic"
)

// keep takes over what a finished trial has left for the next one. The caller holds the lock.
func (w *worker) keep(trial *workerTrial) {
	for i, kept := range trial.kept {
		if kept == nil {
			continue
		}
		if w.kept == nil {
			w.kept = map[endOf]traffic.Renewed{}
		}
		end := trial.ends[i]
		w.kept[endOf{end.Pair, end.Beside, end.Place, end.Role}] = kept
	}
}

// renewed is what a trial before has left of an end, readied for an order; nil where there is nothing, or it will not do. Who
// orders without more to follow has what is left taken away.
func (w *worker) renewed(ctx context.Context, of endOf, order traffic.Order) traffic.Worker {
	if !order.Keep {
		w.letGo()
		return nil
	}
	w.mu.Lock()
	kept := w.kept[of]
	delete(w.kept, of)
	w.mu.Unlock()
	if kept == nil {
		return nil
	}
	if kept.Renew(ctx, order) != nil { // whatever it was, one made anew meets it too, and says so
		kept.Close()
		return nil
	}
	return kept
}

// letGo closes what trials have left.
func (w *worker) letGo() {
	w.mu.Lock()
	all := w.kept
	w.kept = nil
	w.mu.Unlock()
	for _, kept := range all {
		kept.Close()
	}
}
