/// One track's packets on their way to access units.
struct TrackReceiver: Sendable {
    private enum Depacketizer {
        case video(VideoDepacketizer)
        case audio(AACDepacketizer)
        case latm(LATMDepacketizer)
        case foreign(SoundDepacketizer)
    }

    let description: CameraTrackDescription
    private var window: PacketWindow
    private var depacketizer: Depacketizer
    private var statistics: ReceptionStatistics
    /// Packets that could not be read, or of another format.
    private(set) var foreignPackets = 0
    private(set) var hasEnded = false

    /// - Parameter waitNanoseconds: how long a hole is waited for.
    init(_ description: CameraTrackDescription, waitNanoseconds: Int64) {
        self.description = description
        window = PacketWindow(waitNanoseconds: waitNanoseconds)
        statistics = ReceptionStatistics(clockRate: description.clockRate)
        depacketizer =
            switch description.coding {
            case .video(let codec, _): .video(VideoDepacketizer(codec))
            case .audio(let format, let payload):
                .audio(AACDepacketizer(format, payload, clockRate: description.clockRate))
            case .latm(let payload):
                .latm(LATMDepacketizer(payload, clockRate: description.clockRate))
            case .foreign(let sound): .foreign(SoundDepacketizer(sound))
            }
    }

    var deadlineNanoseconds: Int64? { window.deadlineNanoseconds }

    /// Takes a packet of RTP; nil: it is none.
    mutating func receive(_ bytes: [UInt8], arrivalNanoseconds arrival: Int64)
        -> [DepacketizedItem]?
    {
        let packet: RTPPacket
        do throws(RTSPError) {
            packet = try RTPPacket(parsing: bytes)
        } catch {
            // Its number is missing then, if it ever was one.
            foreignPackets += 1
            return nil
        }
        return depacketize(window.add(packet, arrivalNanoseconds: arrival))
    }

    /// Gives what has been waited for long enough.
    mutating func tick(now: Int64) -> [DepacketizedItem] { depacketize(window.next(now: now)) }

    /// Nothing follows.
    mutating func finish() -> [DepacketizedItem] {
        var items = depacketize(window.flush())
        if case .video(var own) = depacketizer {
            items += own.finishStream()
            depacketizer = .video(own)
        }
        return items
    }

    private mutating func depacketize(_ packets: [PacketWindow.Ordered]) -> [DepacketizedItem] {
        var items: [DepacketizedItem] = []
        for ordered in packets {
            statistics.note(
                ordered.packet, number: ordered.number, arrival: ordered.arrivalNanoseconds)
            guard ordered.packet.payloadType == description.payloadType else {
                foreignPackets += 1
                continue
            }
            switch depacketizer {
            case .video(var own):
                // Moved out, so that its bytes are not copied.
                depacketizer = .video(VideoDepacketizer(own.codec))
                items += own.add(ordered)
                depacketizer = .video(own)
            case .audio(var own):
                items += own.add(ordered)
                depacketizer = .audio(own)
            case .latm(var own):
                items += own.add(ordered)
                depacketizer = .latm(own)
            case .foreign(let own): items += own.add(ordered)
            }
        }
        return items
    }

    /// Takes a packet of RTCP; what it reports.
    mutating func receiveControl(
        _ bytes: [UInt8], arrivalNanoseconds arrival: Int64
    ) -> [SenderReport] {
        var reports: [SenderReport] = []
        for packet in RTCPPacket.packets(in: bytes) {
            switch packet {
            case .senderReport(let report):
                statistics.note(report, arrival: arrival)
                reports.append(report)
            case .goodbye(let sources):
                if sources.isEmpty || sources.contains(where: { $0 == statistics.source }) {
                    hasEnded = true
                }
            }
        }
        return reports
    }

    /// What goes back to the camera.
    mutating func report(from reporter: UInt32, name: String, now: Int64) -> [UInt8] {
        RTCPPacket.receiverReport(from: reporter, statistics.block(now: now), name: name)
    }
}
