package system

import (
	"encoding/binary"
	"fmt"
)

// What is where in an if_msghdr2 and its if_data64 (net/if.h and net/if_var.h of macOS, which packs them by 4), in bytes.
const (
	messageLength = 0  // 16 bits
	messageType   = 3  // 8 bits
	messageIndex  = 12 // 16 bits
	dataSpeed     = 48 // from here on 64 bits each
	dataRxPackets = 56
	dataRxErrors  = 64
	dataTxPackets = 72
	dataTxErrors  = 80
	dataRxBytes   = 96
	dataTxBytes   = 104
	dataRxDropped = 128
	messageLeast  = 144

	interfaceInfo2 = 0x12 // RTM_IFINFO2, net/route.h
)

// linkIn finds an interface's counters in what macOS answers to NET_RT_IFLIST2: messages of several types, each
// with its length first. It does not count what was dropped on sending.
func linkIn(list []byte, index int) (Counters, error) {
	for len(list) > messageType {
		length := int(binary.LittleEndian.Uint16(list[messageLength:]))
		if length <= messageType || length > len(list) {
			return Counters{}, fmt.Errorf("a message of %d bytes among the interfaces' counters cannot be", length)
		}
		message := list[:length]
		list = list[length:]
		if message[messageType] != interfaceInfo2 || length < messageLeast || int(binary.LittleEndian.Uint16(message[messageIndex:])) != index {
			continue
		}
		at := func(offset int) uint64 { return binary.LittleEndian.Uint64(message[offset:]) }
		return Counters{
			RxPackets: at(dataRxPackets), RxBytes: at(dataRxBytes), RxErrors: at(dataRxErrors), RxDropped: at(dataRxDropped),
			TxPackets: at(dataTxPackets), TxBytes: at(dataTxBytes), TxErrors: at(dataTxErrors), BitsPerSecond: float64(at(dataSpeed)),
		}, nil
	}
	return Counters{}, fmt.Errorf("there are no counters of the interface %d", index)
}
