import Media

/// Receives one track: packets in, access units out.
struct TrackReceiver: Sendable {
    let description: CameraTrackDescription
    private var window: PacketWindow
    private var depacketizer: any Depacketizer
    private var statistics: ReceptionStatistics
    /// Malformed packets, and those of another payload type.
    private(set) var foreignPackets = 0
    /// Payload type of the last media packet; nil if it is the described one.
    private(set) var foreignType: UInt8?
    /// Losses before packets of another payload type, which are reported with the next packet of the track.
    private var pendingLoss: (loss: PacketLoss, arrivalNanoseconds: Int64)?
    /// Packets with these numbers are RTCP (RFC 5761 §4).
    private static let controlTypes: ClosedRange<UInt8> = 64...95
    /// Time after a BYE in which another source may continue the stream: a sender that changes its SSRC says BYE for the old one
    /// (RFC 3550 §8.2).
    static let goodbyeNanoseconds: Int64 = 1_000_000_000
    /// A BYE that no other source has followed yet, and the end of the wait for one.
    private var goodbye: (source: UInt32?, deadlineNanoseconds: Int64)?
    private(set) var hasEnded = false

    /// - Parameter waitNanoseconds: wait for reordered packets.
    init(_ description: CameraTrackDescription, waitNanoseconds: Int64) {
        self.description = description
        window = PacketWindow(waitNanoseconds: waitNanoseconds)
        statistics = ReceptionStatistics(clockRate: description.clockRate)
        depacketizer =
            switch description.coding {
            case .video(let codec, let format): VideoDepacketizer(codec, format)
            case .audio(let stream):
                stream.payload.depacketizer(clockRate: description.clockRate)
            case .foreign(let sound): SoundDepacketizer(sound)
            }
    }

    /// SSRC of the sender; nil before the first packet.
    var source: UInt32? { statistics.source }

    /// Why the last media packet's payload type is wrong, as the rest of a sentence about the camera; nil if it is right.
    var foreignReason: String? {
        guard let foreignType else { return nil }
        let missing = description.kind == .video ? "pictures" : "sound"
        return
            "sent no \(missing): its packets have payload type \(foreignType), and its description says \(description.payloadType)"
    }

    var deadlineNanoseconds: Int64? {
        [window.deadlineNanoseconds, goodbye?.deadlineNanoseconds].compactMap { $0 }.min()
    }

    /// Processes an RTP packet; nil if it is malformed.
    mutating func receive(_ bytes: [UInt8], arrivalNanoseconds arrival: Int64)
        -> [DepacketizedItem]?
    {
        let packet: RTPPacket
        do throws(RTSPError) {
            packet = try RTPPacket(parsing: bytes)
        } catch {
            // If it was a packet of the track, its number is reported as lost.
            foreignPackets += 1
            return nil
        }
        if packet.payloadType == description.payloadType {
            foreignType = nil
        } else if !Self.controlTypes.contains(packet.payloadType) {
            foreignType = packet.payloadType
        }
        if let goodbye, goodbye.source != packet.source, foreignType == nil { self.goodbye = nil }
        // Retransmissions, error correction and metadata have sequence numbers of their own.
        guard packet.payloadType == description.payloadType || packet.source == window.source
        else {
            foreignPackets += 1
            return []
        }
        return depacketize(window.add(packet, arrivalNanoseconds: arrival))
    }

    /// Outputs packets whose wait is over.
    mutating func tick(now: Int64) -> [DepacketizedItem] {
        if let goodbye, now >= goodbye.deadlineNanoseconds {
            self.goodbye = nil
            hasEnded = true
        }
        return depacketize(window.next(now: now))
    }

    /// Ends the stream.
    mutating func finish() -> [DepacketizedItem] {
        var items = depacketize(window.flush()) + depacketizer.finishStream()
        if let pendingLoss {
            items.append(
                .hole(
                    StreamHole(
                        cause: .lost(pendingLoss.loss),
                        arrivalNanoseconds: pendingLoss.arrivalNanoseconds,
                        isHarmless: description.kind == .audio)))
        }
        pendingLoss = nil
        return items
    }

    private mutating func depacketize(_ packets: [PacketWindow.Ordered]) -> [DepacketizedItem] {
        var items: [DepacketizedItem] = []
        for var ordered in packets {
            if ordered.loss == .restart { statistics.restart() }
            if let pendingLoss {
                ordered.loss =
                    ordered.loss.map { pendingLoss.loss.joined(by: $0) } ?? pendingLoss.loss
                self.pendingLoss = nil
            }
            statistics.note(
                ordered.packet, number: ordered.number, arrival: ordered.arrivalNanoseconds)
            guard ordered.packet.payloadType == description.payloadType else {
                foreignPackets += 1
                pendingLoss = ordered.loss.map { ($0, ordered.arrivalNanoseconds) }
                continue
            }
            items += depacketizer.add(ordered)
        }
        return items
    }

    /// Processes an RTCP packet.
    /// - Returns: its sender reports.
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
                guard !hasEnded, goodbye == nil else { continue }
                if sources.isEmpty || sources.contains(where: { $0 == window.source }) {
                    let deadline = arrival.clampedAdding(Self.goodbyeNanoseconds)
                    goodbye = (window.source, deadline)
                }
            }
        }
        return reports
    }

    /// The receiver report.
    mutating func report(from reporter: UInt32, name: String, now: Int64) -> [UInt8] {
        RTCPPacket.receiverReport(from: reporter, statistics.block(now: now), name: name)
    }
}
