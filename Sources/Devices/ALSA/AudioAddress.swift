import CALSA

/// Address of an audio device: its name, and once it was open, its position in sysfs.
///
/// Cards are numbered, and cards of one model are named, in the order in which they were found. The position in sysfs
/// depends only on the port, so that after a card was unplugged, the same microphone is used again and no other.
package struct AudioAddress: Hashable, Sendable {
    /// ALSA's name: "default", "hw:CARD=Device,DEV=0"; "first" for the first device.
    package let name: String
    private var port: Port?

    private struct Port: Hashable {
        /// The card's path in sysfs.
        var place: String
        /// The part before the card: "hw", "plughw".
        var prefix: String
        var device: UInt32
        var subdevice: UInt32
    }

    package init(name: String) {
        self.name = name
    }

    /// ALSA's present name for it.
    func currentName() throws(DeviceError) -> String {
        if let port {
            guard let card = AudioCards.card(at: port.place) else {
                throw .noAudioDevice(name, available: AudioCards.names())
            }
            return "\(port.prefix):\(card),\(port.device),\(port.subdevice)"
        }
        guard name == "first" else { return name }
        guard let first = AudioCards.names().first else { throw .missing(name) }
        return first
    }

    /// The address with the position of the opened device; names without a card stay names.
    func found(_ handle: borrowing PCMHandle) -> AudioAddress {
        let prefix = name == "first" ? "hw" : String(name.prefix { $0 != ":" })
        guard port == nil, prefix == "hw" || prefix == "plughw" else { return self }
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { preconditionFailure("out of memory") }
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(handle.pcm, info) >= 0,
            let place = AudioCards.place(ofCard: snd_pcm_info_get_card(info))
        else { return self }
        var result = self
        result.port = Port(
            place: place, prefix: prefix, device: snd_pcm_info_get_device(info),
            subdevice: snd_pcm_info_get_subdevice(info))
        return result
    }
}
