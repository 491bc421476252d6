import Media

/// A track's RTP and RTCP channels on the control connection (RFC 2326 §10.12).
///
/// Some cameras assign one channel to several tracks, or to RTP and RTCP: their packets are distinguished by type (RFC 5761 §4),
/// payload type and SSRC. Others answer with one channel and use the requested ones.
struct TrackChannels: Sendable {
    let rtp: UInt8
    let rtcp: UInt8
    private let asked: (rtp: UInt8, rtcp: UInt8)
    private let payloadType: UInt8

    /// - Parameters:
    ///   - answered: the camera's channels; nil: the requested ones.
    ///   - payloadType: of the track's description.
    init(
        _ answered: (rtp: UInt8, rtcp: UInt8)?, asked: (rtp: UInt8, rtcp: UInt8),
        payloadType: UInt8
    ) {
        (rtp, rtcp) = answered ?? asked
        self.asked = asked
        self.payloadType = payloadType
    }

    /// Why a track cannot be distinguished from the others; nil if it can.
    func flaw(among others: [TrackChannels]) -> String? {
        guard others.contains(where: { $0.rtp == rtp && $0.payloadType == payloadType }) else {
            return nil
        }
        return
            "the camera sends its \(TrackKind.video) and \(TrackKind.audio) on channel \(rtp), both with payload type "
            + "\(payloadType): record without sound (--audio none), or use --camera-transport udp"
    }

    private func uses(_ channel: UInt8) -> Bool { rtp == channel || rtcp == channel }

    /// The track of an interleaved packet, by index; nil: none.
    /// - Parameter source: a track's SSRC; nil before its first packet.
    static func destination(
        of bytes: [UInt8], channel: UInt8, among tracks: [TrackChannels],
        source: (Int) -> UInt32?
    ) -> (place: Int, isControl: Bool)? {
        var found: (place: Int, isControl: Bool)?
        var count = 0
        for (place, own) in tracks.enumerated() {
            if own.rtp == channel { (found, count) = ((place, false), count + 1) }
            if own.rtcp == channel { (found, count) = ((place, true), count + 1) }
        }
        if count == 1 { return found }
        guard count > 0 else {
            guard Set(tracks.map(\.rtp)).count < tracks.count else { return nil }
            if let place = tracks.firstIndex(where: { $0.asked.rtp == channel }) {
                return (place, false)
            }
            return tracks.firstIndex { $0.asked.rtcp == channel }.map { ($0, true) }
        }
        if RTCPPacket.isControl(bytes), let sender = RTCPPacket.source(bytes) {
            return tracks.indices.first {
                tracks[$0].uses(channel) && source($0) == sender
            }.map { ($0, true) }
        }
        let type = bytes.count > 1 ? bytes[1] & 0x7F : 0
        let place =
            tracks.firstIndex { $0.rtp == channel && $0.payloadType == type }
            ?? tracks.firstIndex { $0.rtp == channel }
        return place.map { ($0, false) }
    }
}
