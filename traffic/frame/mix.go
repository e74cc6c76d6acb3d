package frame

import (
	"fmt"
	"slices"
	"strings"

	"windtunnel/result"
)

// imix is the word for the simple Internet mix.
const imix = "imix"

// simpleIMIX has 7 small frames, 4 middle ones and 1 large one: the profile IMIX_v4_1 of FD.io's
// CSIT, whose 570 bytes other tools have as 594 or 576. They are spread over their twelve turns,
// so that bursts are as mixed as the whole.
var simpleIMIX = mix{64, 570, 64, 64, 570, 64, 1518, 64, 570, 64, 64, 570}

// mix is the sizes of frames in bytes, FCS counted. Those of a flow have them in turn, and so
// have those of a round of flows (frame_turn in frame_wire.h).
type mix []int

// mostTurns is FRAME_TURNS.
const mostTurns = 16

// sizesOf reads the option size, which is filled.
func sizesOf(given result.Options) mix {
	if given.Text("size") == imix {
		return simpleIMIX
	}
	return mix{int(given.Int("size"))}
}

// turn is the place of a frame's size.
func (m mix) turn(n number) int {
	if len(m) == 1 {
		return 0
	}
	return int((n.flow + uint32(n.sequence)) % uint32(len(m)))
}

func (m mix) of(n number) int { return m[m.turn(n)] }

func (m mix) largest() int { return slices.Max(m) }

func (m mix) smallest() int { return slices.Min(m) }

func (m mix) mean() float64 {
	sum := 0
	for _, size := range m {
		sum += size
	}
	return float64(sum) / float64(len(m))
}

// mixed stands for the sizes of a mix in a hello.
const mixed = 1 << 31

// code is the sizes as a hello has them: both ends know the mixes.
func (m mix) code() uint32 {
	if len(m) == 1 {
		return uint32(m[0])
	}
	return mixed | uint32(len(m))
}

// letters are RFC 6985's for the sizes of RFC 2544. Others have capital letters, which are told.
var letters = map[int]string{64: "a", 128: "b", 256: "c", 512: "d", 1024: "e", 1280: "f", 1518: "g"}

// genome names a mix as RFC 6985 does, a letter a frame; "" for one size.
func (m mix) genome() string {
	if len(m) == 1 {
		return ""
	}
	var text strings.Builder
	var says []string
	own := map[int]string{}
	for _, size := range m {
		letter, told := letters[size]
		if !told {
			letter, told = own[size]
		}
		if !told {
			letter = string(rune('A' + len(own)))
			own[size] = letter
		}
		text.WriteString(letter)
		if meaning := fmt.Sprintf("%s %d", letter, size); !slices.Contains(says, meaning) {
			says = append(says, meaning)
		}
	}
	return text.String() + " (" + strings.Join(says, ", ") + ")"
}
