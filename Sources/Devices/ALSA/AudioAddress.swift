import CALSA

/// How a sound device is found: by its name, and once it was open, by where it is plugged in.
///
/// Cards are numbered, and two of a kind are named, in the order in which they were found. The socket that a card is
/// plugged into stays what it is, so that after it was unplugged, the same microphone is used again and no other.
package struct AudioAddress: Hashable, Sendable {
    /// ALSA's name: "default", "hw:CARD=Device,DEV=0"; "first" for the first there is.
    package let name: String
    private var socket: Socket?

    private struct Socket: Hashable {
        /// The card's place in sysfs.
        var place: String
        /// What stands before the card: "hw", "plughw".
        var prefix: String
        var device: UInt32
        var subdevice: UInt32
    }

    package init(name: String) {
        self.name = name
    }

    /// ALSA's name for it at this moment.
    func currentName() throws(DeviceError) -> String {
        if let socket {
            guard let card = AudioCards.card(at: socket.place) else {
                throw .noAudioDevice(name, available: AudioCards.names())
            }
            return "\(socket.prefix):\(card),\(socket.device),\(socket.subdevice)"
        }
        guard name == "first" else { return name }
        guard let first = AudioCards.names().first else { throw .missing(name) }
        return first
    }

    /// The same, knowing where the device is that was found; names without a card of their own stay names.
    func found(_ handle: borrowing PCMHandle) -> AudioAddress {
        let prefix = name == "first" ? "hw" : String(name.prefix { $0 != ":" })
        guard socket == nil, prefix == "hw" || prefix == "plughw" else { return self }
        var info: OpaquePointer?
        guard snd_pcm_info_malloc(&info) >= 0 else { preconditionFailure("out of memory") }
        defer { snd_pcm_info_free(info) }
        guard snd_pcm_info(handle.pcm, info) >= 0,
            let place = AudioCards.place(ofCard: snd_pcm_info_get_card(info))
        else { return self }
        var result = self
        result.socket = Socket(
            place: place, prefix: prefix, device: snd_pcm_info_get_device(info),
            subdevice: snd_pcm_info_get_subdevice(info))
        return result
    }
}
