/// Detects that an encoder repeats its packet for digital silence, so that further silence need not be encoded.
///
/// Minutes of silence replace the audio of a disconnected microphone, or of an overloaded box. Encoding them would
/// overload a slow box again.
struct QuietStretch {
    /// Packets that an encoder's output may depend on (AAC: one packet overlaps the previous one, and the previous one
    /// determines the bit reservoir).
    private static let settledPackets = 4

    /// Consecutive silent packets encoded.
    private var inputs = 0
    /// Consecutive repetitions of the newest packet.
    private var repeats = 0
    private var newest: [UInt8] = []

    /// The packet for silence; nil while it is unknown.
    var packet: [UInt8]? {
        inputs >= Self.settledPackets && repeats >= Self.settledPackets ? newest : nil
    }

    /// A packet's worth of audio is about to be encoded.
    mutating func willEncode(isQuiet: Bool) {
        inputs = isQuiet ? inputs + 1 : 0
    }

    /// The encoder has returned a packet.
    mutating func didEncode(_ data: [UInt8]) {
        repeats = data == newest ? repeats + 1 : 1
        newest = data
    }
}
