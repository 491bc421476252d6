package import Media

/// A media file that is played like a camera: its packets in the order of their decoding times, once or in a loop.
///
/// Times are nanoseconds after ``originNanoseconds``, which corresponds to the file's earliest presented time; all
/// tracks share it, so their distance is preserved. Each iteration of a loop follows the previous one by the file's
/// duration. Belongs to one thread.
package struct FileSource: ~Copyable {
    package let path: String
    /// In the requested order.
    package let tracks: [CodedTrack]
    /// The instant of the playback clock that corresponds to ``startNanoseconds``.
    package var originNanoseconds: Int64 = 0
    /// The earliest presented time, on the file's own scale.
    package let startNanoseconds: Int64

    /// The use of the packets.
    package enum Purpose: Hashable, Sendable {
        /// Recording without re-encoding: of several tracks, one of a codec of recordings is selected.
        case copying
        /// Decoding: of several tracks, one with an available decoder is selected.
        case decoding
    }

    /// Notes for the user about the file: ignored streams, and an assumed rate.
    package var notes: [String] {
        var notes = demuxer.leftOut.map { "\($0) is left out" }
        // Recordings describe pictures by their parameter sets.
        if purpose == .copying {
            notes += demuxer.lost.map { "\($0), which only its container states, is left out" }
        }
        if demuxer.zeroBytes > 0 {
            notes.append("its last \(demuxer.zeroBytes) bytes are zeros: they are left out")
        }
        if let rate = assumedRate {
            notes.append("it has no timestamps and no frame rate: \(rate) fps are assumed")
        }
        return notes
    }

    /// A note about a clock discontinuity.
    package static func note(_ joint: ClockJoint) -> String {
        func seconds(_ nanoseconds: Int64) -> String {
            let hundredths = nanoseconds.magnitude / 10_000_000
            let rest = "\(100 + hundredths % 100)".dropFirst()
            return "\(nanoseconds < 0 ? "-" : "")\(hundredths / 100).\(rest) s"
        }
        return "its clock jumps by \(seconds(joint.jumpNanoseconds)): what follows is joined at "
            + "\(seconds(joint.atNanoseconds)), without a gap"
    }

    /// The assumed rate of a stream without times and without timing information.
    private var assumedRate: FrameRate? {
        guard !demuxer.hasPositions else { return nil }
        for case .picture(let picture) in tracks.map(\.content) {
            let isTold = tracks.contains { $0.hasOwnRate }
            return isTold ? nil : picture.rate
        }
        return nil
    }

    /// Clock discontinuities so far, without ``originNanoseconds``.
    package var joints: [ClockJoint] { timeline.joints }

    /// Losses since the last call, with ``originNanoseconds``.
    package mutating func takeDamage() -> [FileDamage] {
        damaged.take().map { damage in
            var damage = damage
            damage.startNanoseconds += originNanoseconds
            damage.endNanoseconds += originNanoseconds
            return damage
        }
    }

    /// Packets that the container states and that cannot be read; known at the end of the file.
    package var unread: [TrackKind: Int] {
        Dictionary(
            zip(tracks, demuxer.unread).filter { $1 > 0 }.map { ($0.kind, $1) }
        ) { $0 + $1 }
    }

    /// Packets of a track that the file's edit list hides and that are left out; nil: none. Known at the end of the file.
    package func hidden(_ kind: TrackKind) -> Int? {
        guard let index = tracks.firstIndex(where: { $0.kind == kind }) else { return nil }
        let count = demuxer.hidden[index] + (hidden[kind]?.left ?? 0)
        return count > 0 ? count : nil
    }

    private let kinds: [TrackKind]
    private let purpose: Purpose
    private let loops: Bool
    private let use: Demuxer.Use
    private var demuxer: Demuxer
    private var order: PacketOrder
    private var roundStart: Int64 = 0
    private var roundEnd: Int64 = 0
    private var timeline: PacketTimeline<CodedPacket>
    /// Assembles pictures of a codec of recordings.
    private var pictures: FilePictures?
    /// Drops packets that the file's edit list hides after its end.
    private var hidden: [TrackKind: HiddenPackets<PacketTimeline<CodedPacket>.Timed>] = [:]
    private var damaged = DamagedPackets()
    private var hasReadAll = false
    /// Why reading ended early; thrown after the preceding packets.
    private var damage: DeviceError?

    /// Opens the file's best track of each of `kinds`.
    package init(
        path: String, kinds: [TrackKind], loops: Bool, for purpose: Purpose = .decoding
    ) throws(DeviceError) {
        try self.init(path, kinds: kinds, loops: loops, purpose: purpose, use: .playing)
    }

    /// Opens a file to read its times: they are the file's own, and a file that is still being written ends at its
    /// present end.
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

    /// The next packet of all tracks; nil at the end.
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

    /// Peeks at the first packet of a track; nil when the file has none.
    ///
    /// Call it before ``next()``. Some containers describe a codec only there.
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

    /// Reads one packet, or starts the next iteration.
    private mutating func readOn() throws(DeviceError) {
        do throws(DeviceError) {
            if let output = try demuxer.next() {
                guard !output.isLate else { return damaged.leaveOut(output.packet) }
                let complete = output.packet.track == .video ? pictures?.add(output) : nil
                for output in complete ?? [output] { try time(output) }
                return
            }
        } catch {
            damage = error
        }
        for output in pictures?.finish() ?? [] { try time(output) }
        damaged.finish()
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
        damaged.originNanoseconds = roundStart
        demuxer = try Demuxer(path: path, kinds: kinds, purpose: purpose, use: use)
        timeline = try demuxer.timeline()
        beginRound()
    }

    /// Assigns times to a picture or an audio packet.
    private mutating func time(_ output: Demuxer.Output) throws(DeviceError) {
        guard damaged.isKept(output.packet, isDamaged: output.isDamaged) else { return }
        do throws(TimelineError) {
            place(
                try timeline.add(
                    output.packet, track: output.track, pts: output.packet.ptsNanoseconds,
                    dts: output.dtsNanoseconds, duration: output.packet.durationNanoseconds,
                    bytes: output.packet.bytes.bindMemory(to: UInt8.self).span,
                    newConfiguration: output.packet.newConfiguration))
        } catch {
            throw failure(error)
        }
    }

    /// Inserts timed packets in their order.
    private mutating func place(_ packets: [PacketTimeline<CodedPacket>.Timed]) {
        for timed in packets {
            let follows = hidden[timed.packet.track]?.hasShown == true
            let needed = hidden[timed.packet.track]?.add(
                timed, isHidden: timed.packet.isDiscarded, isKeyframe: timed.packet.isKeyframe)
            for var timed in needed ?? [timed] {
                // Sound between shown packets is shown: libavformat flags some of it in files with a fragment for each
                // sample.
                if follows, timed.packet.track == .audio { timed.packet.isDiscarded = false }
                append(timed)
            }
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
