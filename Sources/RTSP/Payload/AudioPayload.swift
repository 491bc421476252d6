package import Media

/// The RTP payload format of an audio codec that is recorded without transcoding.
package protocol AudioPayload: Hashable, Sendable {
    /// Encoding name in upper case (`a=rtpmap`).
    static var encoding: String { get }
    var format: AudioFormat { get }

    /// - Parameter parameters: those of `fmtp`.
    init(_ parameters: [String: String]) throws(RTSPError)

    /// - Parameter clockRate: of RTP, Hz.
    func depacketizer(clockRate: UInt32) -> any Depacketizer
}

/// The payload formats of all audio codecs of recordings.
let audioPayloads: [any AudioPayload.Type] = [AACPayload.self, LATMPayload.self]

/// Restores access units from a track's RTP packets.
package protocol Depacketizer: Sendable {
    /// - Parameter ordered: the next packet in sequence order.
    /// - Returns: what it completes.
    mutating func add(_ ordered: PacketWindow.Ordered) -> [DepacketizedItem]

    /// Ends the stream.
    /// - Returns: the last unit if it is known to be complete.
    mutating func finishStream() -> [DepacketizedItem]
}

extension Depacketizer {
    package mutating func finishStream() -> [DepacketizedItem] { [] }
}

extension AudioFormat {
    /// Duration of one packet, in ticks of an RTP clock.
    func packetTicks(clockRate: UInt32) -> UInt32 {
        UInt32(clamping: UInt64(packetFrames) * UInt64(clockRate) / UInt64(max(1, sampleRate)))
    }
}
