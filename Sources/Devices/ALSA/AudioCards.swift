import CALSA
import Files
import Glibc

/// An audio capture device, as listed.
package struct AudioDeviceInfo: Hashable, Sendable {
    /// A name that is stable across reboots: `hw:CARD=Device,DEV=0`.
    package var id: String
    /// The vendor's name.
    package var name: String
    /// The card's path in sysfs, which depends on its port and so distinguishes equal devices; nil if unknown.
    package var place: String?
    /// `nil` if it could not be queried: see ``obstacle``.
    package var abilities: Abilities?
    /// Why it could not be queried, in one line.
    package var obstacle: String?

    /// The capabilities of the hardware, without conversion.
    package struct Abilities: Hashable, Sendable {
        /// Its sample rates among the usual ones, Hz.
        package var sampleRates: [Int]
        package var channels: ClosedRange<Int>
        /// ALSA's names.
        package var formats: [String]
    }
}

/// The machine's audio cards.
package enum AudioCards {
    /// The rates that are queried.
    private static let usualRates = [
        8_000, 11_025, 16_000, 22_050, 32_000, 44_100, 48_000, 88_200, 96_000, 192_000,
    ]

    /// The kernel's limit.
    private static let mostCards = 32

    /// All capture devices, in the kernel's order. Opens each device briefly.
    package static func list() -> [AudioDeviceInfo] {
        addresses().map { address in
            var info = AudioDeviceInfo(
                id: address.stableName, name: address.label, place: place(ofCard: address.card))
            do throws(ALSAError) {
                info.abilities = try PCMHandle(address.stableName).abilities(usualRates)
            } catch {
                info.obstacle = DeviceError(opening: address.stableName, error).description
            }
            return info
        }
    }

    /// The names only; opens no device.
    static func names() -> [String] { addresses().map(\.stableName) }

    /// Whether there are cards, none of which this user may open: ALSA then reports that there are none.
    static var areForbidden: Bool {
        let names: [String] = (0..<mostCards).map { "/dev/snd/controlC\($0)" }
        let controls = names.filter { access($0, F_OK) == 0 }
        return !controls.isEmpty && controls.allSatisfy { access($0, R_OK | W_OK) != 0 }
    }

    /// The card in a port; nil if there is none.
    static func card(at place: String) -> Int32? {
        cards().first { self.place(ofCard: $0) == place }
    }

    /// The port of a card: the path of its device in sysfs.
    static func place(ofCard card: Int32) -> String? {
        guard let path = realpath("/sys/class/sound/card\(card)/device", nil) else { return nil }
        defer { free(path) }
        return String(cString: path)
    }

    /// A process that has the device open, as far as the kernel reports it: "arecord (process 812)".
    static func holder(of name: String) -> String? { holders(of: name).first }

    /// All processes that have the device open.
    package static func holders(of name: String) -> [String] {
        // "hw:0", "plughw:Device,0", "hw:CARD=Device,DEV=0,SUBDEV=0"
        let parts = name.split(separator: ":", maxSplits: 1).last.map {
            $0.split(separator: ",").map { $0.split(separator: "=").last ?? "" }
        }
        guard let parts, let card = parts.first else { return [] }
        let device = parts.count > 1 ? parts[1] : "0"
        let address = addresses().first {
            ($0.cardID == card || "\($0.card)" == card) && "\($0.device)" == device
        }
        guard let address else { return [] }
        var holders: [String] = []
        let folder = "/proc/asound/card\(address.card)/pcm\(address.device)c"
        let wanted = parts.count > 2 ? Int(parts[2]) : nil
        for subdevice in wanted.map({ $0...$0 }) ?? 0...7 {
            // A line of the kernel's file is "owner_pid   : 812".
            guard let status = SmallFile.kernelText("\(folder)/sub\(subdevice)/status"),
                let line = status.split(separator: "\n").first(where: {
                    $0.hasPrefix("owner_pid")
                }), let process = line.split(separator: " ").last.flatMap({ Int($0) })
            else { continue }
            let holder = Holders.name(ofProcess: "\(process)")
            if !holders.contains(holder) { holders.append(holder) }
        }
        return holders
    }

    // MARK: Queries

    /// A device of a card.
    struct Address: Hashable {
        var card: Int32
        var cardID: String
        var device: UInt32
        var label: String

        var stableName: String { "hw:CARD=\(cardID),DEV=\(device)" }
    }

    static func addresses() -> [Address] {
        CALSA_keep_off_terminal()
        return cards().flatMap(addresses(ofCard:))
    }

    private static func cards() -> [Int32] {
        var result: [Int32] = []
        var card: Int32 = -1
        while snd_card_next(&card) >= 0, card >= 0 { result.append(card) }
        return result
    }

    private static func addresses(ofCard card: Int32) -> [Address] {
        var control: OpaquePointer?
        guard snd_ctl_open(&control, "hw:\(card)", SND_CTL_NONBLOCK) >= 0 else { return [] }
        defer { snd_ctl_close(control) }
        var cardInfo: OpaquePointer?
        var pcmInfo: OpaquePointer?
        guard snd_ctl_card_info_malloc(&cardInfo) >= 0, snd_pcm_info_malloc(&pcmInfo) >= 0 else {
            preconditionFailure("out of memory")
        }
        defer {
            snd_ctl_card_info_free(cardInfo)
            snd_pcm_info_free(pcmInfo)
        }
        guard snd_ctl_card_info(control, cardInfo) >= 0 else { return [] }
        let id = String(cString: snd_ctl_card_info_get_id(cardInfo))
        let cardName = String(cString: snd_ctl_card_info_get_name(cardInfo))
        var result: [Address] = []
        var device: Int32 = -1
        while snd_ctl_pcm_next_device(control, &device) >= 0, device >= 0 {
            snd_pcm_info_set_device(pcmInfo, UInt32(device))
            snd_pcm_info_set_subdevice(pcmInfo, 0)
            snd_pcm_info_set_stream(pcmInfo, SND_PCM_STREAM_CAPTURE)
            guard snd_ctl_pcm_info(control, pcmInfo) >= 0 else { continue }  // playback only
            let name = String(cString: snd_pcm_info_get_name(pcmInfo))
            result.append(
                Address(
                    card: card, cardID: id, device: UInt32(device),
                    label: name.isEmpty || name == cardName ? cardName : "\(cardName), \(name)"))
        }
        return result
    }
}

extension PCMHandle {
    /// The device's capabilities; does not change its state.
    func abilities(_ rates: [Int]) throws(ALSAError) -> AudioDeviceInfo.Abilities {
        var parameters: OpaquePointer?
        try ALSAError.check(snd_pcm_hw_params_malloc(&parameters))
        defer { snd_pcm_hw_params_free(parameters) }
        try ALSAError.check(snd_pcm_hw_params_any(pcm, parameters))
        var fewest: UInt32 = 0
        var most: UInt32 = 0
        try ALSAError.check(snd_pcm_hw_params_get_channels_min(parameters, &fewest))
        try ALSAError.check(snd_pcm_hw_params_get_channels_max(parameters, &most))
        return AudioDeviceInfo.Abilities(
            sampleRates: rates.filter {
                snd_pcm_hw_params_test_rate(pcm, parameters, UInt32($0), 0) == 0
            },
            channels: Int(fewest)...Int(max(fewest, most)),
            formats: SampleFormat.allCases.filter {
                snd_pcm_hw_params_test_format(pcm, parameters, $0.libraryFormat) == 0
            }.map(\.name))
    }
}

extension DeviceError {
    /// The error for a device that was not found, or may not be listed.
    static func missing(_ name: String) -> DeviceError {
        AudioCards.areForbidden
            ? .soundDeviceDenied(name)
            : .noAudioDevice(name, available: AudioCards.names())
    }

    /// The error for a device that could not be opened.
    init(opening name: String, _ error: ALSAError) {
        guard case .call(let code) = error else {
            self = .soundDeviceRefused(name, reason: error.reason)
            return
        }
        switch -code {
        case EBUSY:
            self = .soundDeviceBusy(name, holder: AudioCards.holder(of: name))
        case EACCES, EPERM: self = .soundDeviceDenied(name)
        case ENOENT, ENODEV, ENXIO:
            self = .missing(name)
        default: self = .soundDeviceRefused(name, reason: error.reason)
        }
    }
}
