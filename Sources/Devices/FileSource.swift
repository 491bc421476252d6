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

    /// What the file's packets are read for.
    package enum Purpose: Hashable, Sendable {
        /// They are recorded as they are: of several tracks, one of H.264 or AAC is used.
        case copying
        /// Of several tracks, one is used that there is a decoder for.
        case decoding
    }

    /// What people should know of the file from the beginning, each in words: streams that are not used, and a rate that is not the
    /// file's.
    package var notes: [String] {
        var notes = demuxer.others.map { "\($0) is left out" }
        if let rate = assumedRate {
            notes.append("it has no timestamps and no frame rate: \(rate) fps are assumed")
        }
        return notes
    }

    /// A joint in words.
    package static func note(_ joint: ClockJoint) -> String {
        func seconds(_ nanoseconds: Int64) -> String {
            let hundredths = nanoseconds.magnitude / 10_000_000
            let rest = "\(100 + hundredths % 100)".dropFirst()
            return "\(nanoseconds < 0 ? "-" : "")\(hundredths / 100).\(rest) s"
        }
        return "its clock jumps by \(seconds(joint.jumpNanoseconds)): what follows is joined at "
            + "\(seconds(joint.atNanoseconds)), without a gap"
    }

    /// The rate at which a stream without times is read that does not say one.
    private var assumedRate: FrameRate? {
        guard !demuxer.hasPositions else { return nil }
        for case .picture(let picture) in tracks.map(\.content) {
            let isTold = tracks.contains { $0.hasOwnRate }
            return isTold ? nil : picture.rate
        }
        return nil
    }

    /// Where the clock of the file has jumped so far, as its packets are timed without ``originNanoseconds``.
    package var joints: [ClockJoint] { timeline.joints }

    private let kinds: [TrackKind]
    private let purpose: Purpose
    private let loops: Bool
    private let use: Demuxer.Use
    private var demuxer: Demuxer
    private var order: PacketOrder
    private var roundStart: Int64 = 0
    private var roundEnd: Int64 = 0
    private var timeline: PacketTimeline<CodedPacket>
    /// Makes packets of pictures, where the track is H.264.
    private var pictures: FilePictures?
    /// What the file's edit list hides behind its end is left out.
    private var hidden: [TrackKind: HiddenPackets<PacketTimeline<CodedPacket>.Timed>] = [:]
    private var hasReadAll = false
    /// Why reading ended before the end: reported behind what precedes the damage.
    private var damage: DeviceError?

    /// Opens the file's best track of each of `kinds`.
    package init(
        path: String, kinds: [TrackKind], loops: Bool, for purpose: Purpose = .decoding
    ) throws(DeviceError) {
        try self.init(path, kinds: kinds, loops: loops, purpose: purpose, use: .playing)
    }

    /// Opens a file to look at its times: they stay the file's own, and a file that is still being written ends where
    /// it ends.
    /// - Parameter descriptor: the file, where it is open for reading already: the path is for messages then. It may be
    ///   closed afterwards.
    package init(
        inspecting path: String, descriptor: Int32? = nil, kinds: [TrackKind]
    ) throws(DeviceError) {
        try self.init(
            path, descriptor: descriptor, kinds: kinds, loops: false, purpose: .copying,
            use: .inspecting)
    }

    /// - Parameter descriptor: nil: the file is opened, and at the beginning of each round again.
    private init(
        _ path: String, descriptor: Int32? = nil, kinds: [TrackKind], loops: Bool,
        purpose: Purpose, use: Demuxer.Use
    ) throws(DeviceError) {
        precondition(descriptor == nil || !loops)
        self.path = path
        self.kinds = kinds
        self.loops = loops
        let demuxer = try Demuxer(
            path: path, descriptor: descriptor, kinds: kinds, purpose: purpose, use: use)
        let timeline = try demuxer.timeline()
        self.purpose = purpose
        self.use = use
        self.timeline = timeline
        tracks = demuxer.tracks.map(\.description)
        startNanoseconds = demuxer.startNanoseconds
        order = PacketOrder(tracks: kinds)
        self.demuxer = demuxer
        beginRound()
    }

    private mutating func beginRound() {
        pictures = tracks.first { $0.kind == .video }.flatMap { FilePictures($0) }
        for track in kinds {
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
            if hasReadAll { return try end() }
            try readOn()
        }
    }

    /// The first packet of a track, which stays where it is; nil when the file has none.
    ///
    /// To be asked before ``next()`` is. Some containers describe a codec only there.
    package mutating func firstPacket(of kind: TrackKind) throws(DeviceError) -> CodedPacket? {
        while true {
            if let packet = order.first(of: kind) { return packet }
            if hasReadAll { return try end() }
            try readOn()
        }
    }

    private func end() throws(DeviceError) -> CodedPacket? {
        if let damage { throw damage }
        return nil
    }

    /// Reads one packet, or opens the next round.
    private mutating func readOn() throws(DeviceError) {
        do throws(DeviceError) {
            if let output = try demuxer.next() {
                let complete = output.packet.track == .video ? pictures?.add(output) : nil
                for output in complete ?? [output] { try time(output) }
                return
            }
        } catch {
            damage = error
        }
        for output in pictures?.finish() ?? [] { try time(output) }
        do throws(TimelineError) {
            place(try timeline.finish())
        } catch {
            throw failure(error)
        }
        guard loops, roundEnd > 0, damage == nil else {
            hasReadAll = true
            order.finish()
            return
        }
        roundStart += roundEnd
        roundEnd = 0
        demuxer = try Demuxer(path: path, kinds: kinds, purpose: purpose, use: use)
        timeline = try demuxer.timeline()
        beginRound()
    }

    /// Gives a picture, or a packet of sound, its times.
    private mutating func time(_ output: Demuxer.Output) throws(DeviceError) {
        do throws(TimelineError) {
            place(
                try timeline.add(
                    output.packet, track: output.track, pts: output.packet.ptsNanoseconds,
                    dts: output.dtsNanoseconds, duration: output.packet.durationNanoseconds,
                    bytes: output.packet.bytes.bindMemory(to: UInt8.self).span))
        } catch {
            throw failure(error)
        }
    }

    /// Takes packets with their times on their way to their places among the others.
    private mutating func place(_ packets: [PacketTimeline<CodedPacket>.Timed]) {
        for timed in packets {
            let needed = hidden[timed.packet.track]?.add(
                timed, isHidden: timed.packet.isDiscarded, isKeyframe: timed.packet.isKeyframe)
            for timed in needed ?? [timed] { append(timed) }
        }
    }

    private mutating func append(_ timed: PacketTimeline<CodedPacket>.Timed) {
        var packet = timed.packet
        packet.durationNanoseconds = timed.duration
        packet.ptsNanoseconds = timed.pts + roundStart
        packet.dtsNanoseconds = timed.dts + roundStart
        roundEnd = max(roundEnd, timed.pts + timed.duration)
        order.append(packet)
    }

    private func failure(_ error: TimelineError) -> DeviceError {
        .cannotOpen(
            path: path,
            reason: error.reason {
                tracks[$0].codec
            } kind: {
                tracks[$0].kind.description
            })
    }
}
