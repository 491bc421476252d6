import CFFmpeg
import FFmpegSupport
import Media

/// An open media file, read sequentially through libavformat.
///
/// Owns the handle; used by one thread at a time. All tracks' times have one zero, which preserves the distance between
/// them.
struct Demuxer: ~Copyable {
    /// The use of a file.
    enum Use {
        /// Playback like a camera: zero is the earliest presented time, and the file must be complete.
        case playing
        /// Inspection: times are the file's own, and a growing file may end anywhere.
        case inspecting
    }

    let tracks: [FormatHandle.Track]
    /// Descriptions of the file's other streams.
    private let others: [Int32: String]
    /// Container properties of the tracks that recordings cannot store.
    let lost: [String]
    /// Streams when the file was opened.
    private let streamCount: Int32
    /// The earliest presented time, on the file's own scale.
    let startNanoseconds: Int64
    private let handle: FormatHandle
    private let use: Use
    /// The file's own time of zero.
    private let originNanoseconds: Int64
    /// Packets read from each of ``tracks``, without empty ones.
    private var packetsRead: [Int]
    private var lastNanoseconds: Int64 = 0
    /// Packets of each of ``tracks`` that the container states and that cannot be read; known at the end of the file.
    private(set) var unread: [Int]
    /// Packets of each of ``tracks`` that an edit list hides and that were not read; known at the end of the file.
    private(set) var hidden: [Int]
    /// The end of the last packet of any stream, on the file's own scale.
    private var endNanoseconds: Int64 = 0
    /// Tracks that other streams continue; nil: none.
    private var continued: [Int32: Int?] = [:]
    /// Descriptions of the other ones, by number.
    private var late: [Int32: String] = [:]
    private var unlisted: [String] = []
    /// Finds packets that the container has lost.
    private var losses: PacketLosses?

    /// Opens the file and finds its best track of each of `kinds`.
    /// - Parameter descriptor: the file, where it is open already.
    init(
        path: String, descriptor: Int32? = nil, kinds: [TrackKind], purpose: FileSource.Purpose,
        use: Use
    ) throws(DeviceError) {
        let handle = try FormatHandle(path: path, descriptor: descriptor)
        var tracks: [FormatHandle.Track] = []
        for kind in kinds { tracks.append(try handle.bestTrack(kind, for: purpose)) }
        let others = handle.others(than: tracks)
        let earliest = try handle.select(tracks)
        startNanoseconds = earliest
        originNanoseconds = use == .playing ? earliest : 0
        self.use = use
        losses =
            use == .playing
            ? handle.losses.map { PacketLosses($0, tracks: tracks, handle) } : nil
        packetsRead = tracks.map { _ in 0 }
        unread = packetsRead
        hidden = packetsRead
        self.tracks = tracks
        self.others = others
        streamCount = Int32(handle.context.pointee.nb_streams)
        lost = tracks.flatMap { handle.lostProperties($0) }
        self.handle = handle
    }

    /// Descriptions of the file's streams that are left out, as far as they are known.
    var leftOut: [String] {
        others.merging(late) { $1 }.filter { continued[$0.key, default: nil] == nil }
            .sorted { $0.key < $1.key }.map(\.value) + unlisted
    }

    /// The track that a stream continues: the stream begins where that of the track has ended, because the program was
    /// described again.
    private mutating func continuedTrack(_ index: Int32) -> Int? {
        if let known = continued[index] { return known }
        var found: Int?
        for track in tracks.indices
        where found == nil && handle.isSimilar(index, tracks[track].index) {
            let stream = Int(handle.stream(index).pointee.id)
            if losses?.continues(track, stream) == true { found = track }
        }
        continued[index] = .some(found)
        if found == nil, index >= streamCount { noteLateStream(index) }
        return found
    }

    private mutating func noteLateStream(_ index: Int32) {
        late[index] =
            "\(handle.description(index)), which begins at \(lastNanoseconds / 1_000_000_000) s,"
    }

    /// Zeros at the end of the file, where media would be expected.
    var zeroBytes: Int64 { handle.zeroBytes }

    /// Whether each packet of the file has a time of its own, or at least a position.
    var hasPositions: Bool { handle.hasPositions }

    /// Repairs the packets' times, of a file that is read from its start.
    func timeline() throws(DeviceError) -> PacketTimeline<CodedPacket> {
        try handle.timeline(of: tracks)
    }

    /// A packet with the container's times.
    struct Output {
        var packet: CodedPacket
        /// Index in ``tracks``.
        var track: Int
        /// `nil` if neither the container nor the library knows it.
        var dtsNanoseconds: Int64?
        /// Whether parts of it are missing: its container lost packets.
        var isDamaged = false
        /// Whether it precedes packets that were read already, after a change of the track's stream.
        var isLate = false
    }

    /// The next packet in the file's order, nil at its end.
    mutating func next() throws(DeviceError) -> Output? {
        while true {
            if let output = losses?.next() { return output }
            guard let (output, position) = try read() else {
                losses?.finish()
                unlisted = losses?.unlisted() ?? []
                return losses?.next()
            }
            guard losses != nil else { return output }
            losses?.add(output, at: position)
        }
    }

    /// The next packet, and its position in the file, -1 if unknown.
    private mutating func read() throws(DeviceError) -> (Output, position: Int64)? {
        while true {
            let box = PacketHandle()
            let result = av_read_frame(handle.context, box.packet)
            if result == CFFmpeg_ERROR_EOF {
                if use == .playing { try checkIsComplete() }
                return nil
            }
            guard result >= 0 else {
                throw .unreadable(
                    path: handle.path, atNanoseconds: lastNanoseconds,
                    reason: libraryErrorText(result))
            }
            let index = box.packet.pointee.stream_index
            losses?.note(box.packet.pointee.pos)
            try notePresence(of: box.packet.pointee)
            // Truncated by the end of the file, not damaged by its writer.
            let isCorrupt = box.packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0
            if isCorrupt, use == .playing, let io = handle.context.pointee.pb, avio_feof(io) != 0 {
                throw .truncated(path: handle.path, atNanoseconds: lastNanoseconds)
            }
            guard
                let track = tracks.firstIndex(where: { $0.index == index }) ?? continuedTrack(index)
            else { continue }
            if box.packet.pointee.size > 0 { packetsRead[track] += 1 }
            guard Self.sideData(box.packet, AV_PKT_DATA_ENCRYPTION_INFO) == nil else {
                throw .cannotOpen(
                    path: handle.path, reason: "it is encrypted and cannot be read")
            }
            let output = try output(box, track)
            let packet = output.packet
            lastNanoseconds = max(
                lastNanoseconds, packet.ptsNanoseconds ?? packet.dtsNanoseconds)
            return (output, box.packet.pointee.pos)
        }
    }
}

/// Marks packets whose parts are missing.
///
/// A packet is known to be whole when the next one of its stream begins, so the packets of one position wait for
/// another.
private struct PacketLosses {
    private struct Track {
        var stream: Int
        var position: Int64 = -1
        /// The present packet is of a stream that the track has left: the library completes it at the end of the file.
        var isLate = false
        /// Losses before ``position``.
        var count = 0
        var held: [Demuxer.Output] = []
    }

    private var file: any ContainerLosses
    private var tracks: [Track]
    /// Identifiers of streams that libavformat knows.
    private var known: Set<Int>
    private var ready: [Demuxer.Output] = []

    init(
        _ file: any ContainerLosses, tracks: [FormatHandle.Track],
        _ handle: borrowing FormatHandle
    ) {
        self.file = file
        known = Set(
            (0..<Int32(handle.context.pointee.nb_streams)).map {
                Int(handle.stream($0).pointee.id)
            })
        self.tracks = tracks.map { Track(stream: Int(handle.stream($0.index).pointee.id)) }
    }

    mutating func next() -> Demuxer.Output? { ready.isEmpty ? nil : ready.removeFirst() }

    mutating func add(_ output: Demuxer.Output, at position: Int64) {
        let track = output.track
        if position >= 0, position != tracks[track].position {
            follow(track, to: position)
        }
        if position >= 0, position != tracks[track].position, !tracks[track].isLate {
            let count = file.count(stream: tracks[track].stream, before: position)
            release(track, count)
            tracks[track].position = position
        }
        guard !tracks[track].isLate else {
            var output = output
            output.isLate = true
            return ready.append(output)
        }
        tracks[track].held.append(output)
    }

    /// The program table may have moved the track to other packets.
    private mutating func follow(_ track: Int, to position: Int64) {
        tracks[track].isLate = false
        guard let stream = file.stream(at: position), stream != tracks[track].stream else { return }
        tracks[track].isLate = position < tracks[track].position
        guard !tracks[track].isLate else { return }
        release(track, file.count(stream: tracks[track].stream, before: position))
        tracks[track].stream = stream
        tracks[track].count = file.count(stream: stream, before: position)
    }

    /// Whether a stream continues a track.
    mutating func continues(_ track: Int, _ stream: Int) -> Bool {
        file.isStream(stream, after: tracks[track].stream)
    }

    /// Notes the stream of a packet, by the packet's position in the file.
    mutating func note(_ position: Int64) {
        guard position >= 0, let stream = file.stream(at: position) else { return }
        known.insert(stream)
    }

    /// Descriptions of streams that were not read, at the end of the file.
    mutating func unlisted() -> [String] { file.unlisted(known) }

    mutating func finish() {
        for track in tracks.indices {
            release(track, file.total(streams: [tracks[track].stream]))
        }
    }

    private mutating func release(_ track: Int, _ count: Int) {
        let isDamaged = count > tracks[track].count
        for var output in tracks[track].held {
            output.isDamaged = isDamaged
            ready.append(output)
        }
        tracks[track].held.removeAll(keepingCapacity: true)
        tracks[track].count = count
    }
}

extension Demuxer {
    /// Tracks the end of the packets of all streams.
    private mutating func notePresence(of packet: AVPacket) throws(DeviceError) {
        let base = handle.stream(packet.stream_index).pointee.time_base
        let start = packet.pts == CFFmpeg_NOPTS_VALUE ? packet.dts : packet.pts
        guard start != CFFmpeg_NOPTS_VALUE else { return }
        let time = try handle.nanoseconds(start, base)
        endNanoseconds = max(endNanoseconds, time + (try handle.nanoseconds(packet.duration, base)))
    }

    /// A container with an index has the number of packets, others a duration.
    private mutating func checkIsComplete() throws(DeviceError) {
        unread = zip(tracks, packetsRead).map { handle.unread(of: $0, read: $1) }
        if handle.hasPacketIndex {
            for (track, read) in zip(tracks, packetsRead) where read < handle.listed(of: track) {
                throw .truncated(path: handle.path, atNanoseconds: lastNanoseconds)
            }
            hidden = zip(tracks, packetsRead).map { handle.hidden(of: $0, read: $1) }
        } else if let duration = handle.statedDurationNanoseconds, endNanoseconds > 0,
            endNanoseconds + Self.durationTolerance < duration
        {
            throw .truncated(path: handle.path, atNanoseconds: lastNanoseconds)
        }
    }

    /// Durations in headers are rounded, and may or may not include the last picture.
    private static let durationTolerance: Int64 = 1_000_000_000

    private func output(_ box: PacketHandle, _ place: Int) throws(DeviceError) -> Output {
        let packet = box.packet.pointee
        let track = tracks[place]
        let base = handle.stream(packet.stream_index).pointee.time_base
        let pts = packet.pts == CFFmpeg_NOPTS_VALUE ? nil : try relative(packet.pts, base)
        let dts =
            packet.dts == CFFmpeg_NOPTS_VALUE || !handle.hasPositions
            ? nil : try relative(packet.dts, base)
        let skipped = Self.skippedFrames(box.packet)
        let coded = CodedPacket(
            track: track.description.kind, ptsNanoseconds: pts,
            dtsNanoseconds: dts ?? 0,
            durationNanoseconds: max(0, try handle.nanoseconds(packet.duration, base)),
            isKeyframe: packet.flags & AV_PKT_FLAG_KEY != 0,
            isDiscarded: packet.flags & AV_PKT_FLAG_DISCARD != 0,
            skippedAtStart: skipped.start, skippedAtEnd: skipped.end,
            newConfiguration: Self.sideData(box.packet, AV_PKT_DATA_NEW_EXTRADATA).map(Array.init),
            bytes: UnsafeRawBufferPointer(start: packet.data, count: Int(packet.size)),
            owner: box)
        return Output(packet: coded, track: place, dtsNanoseconds: dts)
    }

    /// Converts a time of the file's own clock to nanoseconds after its start.
    private func relative(_ value: Int64, _ base: AVRational) throws(DeviceError) -> Int64 {
        let time = try handle.nanoseconds(value, base) - originNanoseconds
        guard time.magnitude < TimeLimits.nanoseconds else {
            throw .timeOutOfRange(path: handle.path)
        }
        return time
    }

    private static func sideData(
        _ packet: UnsafeMutablePointer<AVPacket>, _ type: AVPacketSideDataType
    ) -> UnsafeRawBufferPointer? {
        var size = 0
        guard let data = av_packet_get_side_data(packet, type, &size) else { return nil }
        return UnsafeRawBufferPointer(start: data, count: size)
    }

    /// AV_PKT_DATA_SKIP_SAMPLES: two little-endian 32-bit counts, from the start and from the end.
    private static func skippedFrames(
        _ packet: UnsafeMutablePointer<AVPacket>
    ) -> (start: Int, end: Int) {
        guard let data = sideData(packet, AV_PKT_DATA_SKIP_SAMPLES), data.count >= 8 else {
            return (0, 0)
        }
        let start = UInt32(littleEndian: data.loadUnaligned(fromByteOffset: 0, as: UInt32.self))
        let end = UInt32(littleEndian: data.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
        return (Int(start), Int(end))
    }
}
