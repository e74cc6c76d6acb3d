package testbed

import "slices"

// Diff returns what turns the testbed have into want, in order: what goes, from
// the top down (daemons first), then what is made and set, from the bottom up.
// An attribute that a living object can take on is set; anything else makes the
// object, and what stands on it, anew.
func Diff(have, want Graph) []Change {
	old, new := objects(have), objects(want)
	rebuilt := rebuilds(old, new)
	var changes []Change
	for _, o := range slices.Backward(old) {
		if _, stays := find(new, o); !stays || rebuilt[o.key()] {
			changes = append(changes, o.change(Remove))
		}
	}
	for _, o := range new {
		before, stood := find(old, o)
		if !stood || rebuilt[o.key()] {
			changes = append(changes, o.change(Make))
			continue
		}
		changes = append(changes, sets(before, o)...)
	}
	return changes
}

// rebuilds returns the keys of the objects that stand on both sides and must be
// made anew: something fixed differs, or what they stand on is itself rebuilt.
func rebuilds(old, new []object) map[string]bool {
	rebuilt := map[string]bool{}
	for _, o := range new { // what an object needs comes before it
		before, stood := find(old, o)
		if !stood {
			continue
		}
		on := slices.ContainsFunc(o.needs, func(key string) bool { return rebuilt[key] })
		if on || before.fixed != o.fixed || lost(before, o) {
			rebuilt[o.key()] = true
		}
	}
	return rebuilt
}

// lost tells whether an attribute that was asked for is no longer, so that the
// device should have it as found: only a new device surely does.
func lost(before, after object) bool {
	return slices.ContainsFunc(before.attributes, func(a attribute) bool {
		return a.asFound && !slices.ContainsFunc(after.attributes, a.same)
	})
}

func sets(before, after object) []Change {
	var changes []Change
	for _, a := range after.attributes {
		from := ""
		if i := slices.IndexFunc(before.attributes, a.same); i >= 0 {
			from = before.attributes[i].value
			if from == a.value {
				continue
			}
		}
		changes = append(changes, Change{
			Do: Set, Kind: after.kind, Name: after.name,
			Place: a.place, Device: a.device, Attribute: a.name, From: from, To: a.value,
		})
	}
	return changes
}

func find(all []object, o object) (object, bool) {
	i := slices.IndexFunc(all, func(other object) bool { return other.key() == o.key() })
	if i < 0 {
		return object{}, false
	}
	return all[i], true
}
