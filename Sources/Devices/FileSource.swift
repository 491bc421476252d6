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
    /// The file's earliest presented time, on its own scale.
    package let startNanoseconds: Int64

    private let kinds: [TrackKind]
    private let loops: Bool
    private let use: Demuxer.Use
    private var demuxer: Demuxer
    private var order: PacketOrder
    private var roundStart: Int64 = 0
    private var roundEnd: Int64 = 0
    private var decodingTimes: [TrackKind: DecodingTimes] = [:]
    /// Makes packets of pictures, where the track is H.264.
    private var pictures: FilePictures?
    /// What the file's edit list hides behind its end is left out.
    private var hidden: [TrackKind: HiddenPackets<Demuxer.Output>] = [:]
    private var hasReadAll = false

    /// Opens the file's best track of each of `kinds`.
    package init(path: String, kinds: [TrackKind], loops: Bool) throws(DeviceError) {
        try self.init(path, kinds: kinds, loops: loops, use: .playing)
    }

    /// Opens a file to look at its times: they stay the file's own, and a file that is still being written ends where
    /// it ends.
    package init(inspecting path: String, kinds: [TrackKind]) throws(DeviceError) {
        try self.init(path, kinds: kinds, loops: false, use: .inspecting)
    }

    private init(
        _ path: String, kinds: [TrackKind], loops: Bool, use: Demuxer.Use
    ) throws(DeviceError) {
        self.path = path
        self.kinds = kinds
        self.loops = loops
        self.use = use
        demuxer = try Demuxer(path: path, kinds: kinds, use: use)
        tracks = demuxer.tracks.map(\.description)
        startNanoseconds = demuxer.startNanoseconds
        order = PacketOrder(tracks: kinds)
        beginRound()
    }

    private mutating func beginRound() {
        pictures = tracks.first { $0.kind == .video }.flatMap { FilePictures($0) }
        for track in kinds {
            decodingTimes[track] = DecodingTimes()
            hidden[track] = use == .playing ? HiddenPackets(keepsStart: true) : nil
        }
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
        if var output = try demuxer.next() {
            let track = output.packet.track
            if output.packet.durationNanoseconds == 0 {
                output.packet.durationNanoseconds = usualDuration(of: track)
            }
            let complete = track == .video ? pictures?.add(output) : nil
            for output in complete ?? [output] { place(output) }
            return
        }
        for output in pictures?.finish() ?? [] { place(output) }
        for track in kinds {
            for packet in decodingTimes[track]?.finish() ?? [] { append(packet) }
        }
        guard loops, roundEnd > 0 else {
            hasReadAll = true
            order.finish()
            return
        }
        roundStart += roundEnd
        roundEnd = 0
        demuxer = try Demuxer(path: path, kinds: kinds, use: use)
        beginRound()
    }

    /// Takes a picture, or a packet of sound, on its way to its place among the others.
    private mutating func place(_ output: Demuxer.Output) {
        let track = output.packet.track
        let needed = hidden[track]?.add(
            output, isHidden: output.packet.isDiscarded, isKeyframe: output.packet.isKeyframe)
        for output in needed ?? [output] {
            let complete = decodingTimes[track]?.add(
                output.packet, isKnown: output.isDecodingTimeKnown)
            for packet in complete ?? [] { append(packet) }
        }
    }

    private mutating func append(_ packet: CodedPacket) {
        let start = packet.ptsNanoseconds ?? packet.dtsNanoseconds
        roundEnd = max(roundEnd, start + packet.durationNanoseconds)
        var packet = packet
        packet.dtsNanoseconds += roundStart
        packet.ptsNanoseconds = packet.ptsNanoseconds.map { $0 + roundStart }
        order.append(packet)
    }

    /// How long a picture of that track lasts when the container does not say; 0 when nothing does.
    private func usualDuration(of kind: TrackKind) -> Int64 {
        for case .picture(let picture) in tracks.map(\.content) where kind == .video {
            if let rate = picture.rate { return rate.nanoseconds(ofPicture: 1) }
        }
        return 0
    }
}
