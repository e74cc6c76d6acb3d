package result

// Tunnel is what an endpoint's frames wear where it stands at the far end of a data plane's fabric,
// in the place of another node: what it sends it wraps so, and what it receives must be wrapped in
// the same way, with the addresses exchanged.
type Tunnel struct {
	Encapsulation string `json:"encapsulation"` // mplsoudp, mplsogre, vxlan, or none
	From          string `json:"from"`          // IP addresses of the outer header: the endpoint's side
	To            string `json:"to"`            // and the data plane's
	Sends         uint32 `json:"sends"`         // the label, or VNI, of what the endpoint sends
	Receives      uint32 `json:"receives"`      // and of what it receives
	Inner         string `json:"inner"`         // both MAC addresses of VXLAN's inner frames
}
