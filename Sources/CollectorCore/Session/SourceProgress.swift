import Media

struct SourceProgress: Hashable, Sendable {
    var name: String
    var pictures: UInt64 = 0
    var soundPackets: UInt64 = 0
    var payloadBytes: UInt64 = 0
    /// Samples that are known to be missing.
    var lostSamples: UInt64 = 0
    /// Session time of the newest sample, nanoseconds.
    var newestNanoseconds: Int64?
    var isComplete = false

    /// One line for log output.
    var summary: String {
        var parts: [String] = []
        if pictures > 0 { parts.append("\(pictures) pictures") }
        if soundPackets > 0 { parts.append("\(soundPackets) \(AudioCodec.list) packets") }
        parts.append(byteText(payloadBytes))
        parts.append(lostSamples == 0 ? "nothing lost" : "\(lostSamples) samples lost")
        return parts.joined(separator: ", ")
    }
}
