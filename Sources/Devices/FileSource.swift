package import Media

/// A media file that is played like a camera: its packets in the order of their decoding times, once or over and
/// over.
///
/// Times are nanoseconds after ``originNanoseconds``, where the file's earliest presented time goes; all tracks of the
/// file share it, so their distance stays what it is. Each round of a loop follows the one before it by the file's
/// duration. Belongs to one thread.
package struct FileSource: ~Copyable {
    package let path: String
    /// In the order that was asked for.
    package let tracks: [CodedTrack]
    /// Where the file's zero is on the clock it is played by.
    package var originNanoseconds: Int64 = 0

    private let kinds: [TrackKind]
    private let loops: Bool
    private var demuxer: Demuxer
    private var order: PacketOrder
    private var roundStart: Int64 = 0
    private var roundEnd: Int64 = 0
    /// Where each track's newest packet begins, in this round.
    private var newest: [TrackKind: Int64] = [:]
    private var hasReadAll = false

    /// Opens the file's best track of each of `kinds`.
    package init(path: String, kinds: [TrackKind], loops: Bool) throws(DeviceError) {
        self.path = path
        self.kinds = kinds
        self.loops = loops
        demuxer = try Demuxer(path: path, kinds: kinds)
        tracks = demuxer.tracks.map(\.description)
        order = PacketOrder(tracks: kinds)
    }

    /// The next packet of all tracks, nil at the end.
    package mutating func next() throws(DeviceError) -> CodedPacket? {
        while true {
            if var packet = order.next() {
                packet.dtsNanoseconds += originNanoseconds
                packet.ptsNanoseconds = packet.ptsNanoseconds.map { $0 + originNanoseconds }
                return packet
            }
            if hasReadAll { return nil }
            try readOn()
        }
    }

    /// The first packet of a track, which stays where it is; nil when the file has none.
    ///
    /// To be asked before ``next()`` is. Some containers describe a codec only there.
    package mutating func firstPacket(of kind: TrackKind) throws(DeviceError) -> CodedPacket? {
        while true {
            if let packet = order.first(of: kind) { return packet }
            if hasReadAll { return nil }
            try readOn()
        }
    }

    /// Reads one packet, or opens the next round.
    private mutating func readOn() throws(DeviceError) {
        if var packet = try demuxer.next() {
            let start = packet.ptsNanoseconds ?? packet.dtsNanoseconds
            roundEnd = max(roundEnd, start + durationEstimate(packet))
            newest[packet.track] = start
            packet.dtsNanoseconds += roundStart
            packet.ptsNanoseconds = packet.ptsNanoseconds.map { $0 + roundStart }
            order.append(packet)
            return
        }
        guard loops, roundEnd > 0 else {
            hasReadAll = true
            order.finish()
            return
        }
        roundStart += roundEnd
        roundEnd = 0
        newest = [:]
        demuxer = try Demuxer(path: path, kinds: kinds)
    }

    /// A picture of unknown duration lasts as long as the track's rate says, or as the one before it did.
    private func durationEstimate(_ packet: CodedPacket) -> Int64 {
        if packet.durationNanoseconds > 0 { return packet.durationNanoseconds }
        for case .picture(let picture) in tracks.map(\.content) where packet.track == .video {
            if let rate = picture.rate { return rate.nanoseconds(ofPicture: 1) }
        }
        let start = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        return newest[packet.track].map { max(0, start - $0) } ?? 0
    }
}
