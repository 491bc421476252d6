/// Packets of digital silence: once an encoder makes the same one again and again, the next need not be encoded.
///
/// Minutes of silence stand for a microphone that was away, or for what a busy box could not read. Were they encoded, a slow box would miss
/// more sound while it does so than the silence stands for.
struct QuietStretch {
    /// An encoder looks so many frames' sound ahead and behind (AAC: one packet overlaps the one before), and decides by the packet before how
    /// many bits there are.
    private static let settledPackets = 4

    /// Silent packets' worth that were encoded without a break.
    private var inputs = 0
    /// How often the newest packet came in a row.
    private var repeats = 0
    private var newest: [UInt8] = []

    /// The packet that silence would become; nil while that is not known.
    var packet: [UInt8]? {
        inputs >= Self.settledPackets && repeats >= Self.settledPackets ? newest : nil
    }

    /// A packet's worth of sound goes to the encoder.
    mutating func willEncode(isQuiet: Bool) {
        inputs = isQuiet ? inputs + 1 : 0
    }

    /// A packet comes out of it.
    mutating func didEncode(_ data: [UInt8]) {
        repeats = data == newest ? repeats + 1 : 1
        newest = data
    }
}
