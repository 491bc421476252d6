import MP4
import Media

/// The timestamps of a network camera's track over all files of a source, and the times that follow from them.
///
/// Files are read three times in order not to hold all samples: forwards for the envelopes, backwards for the times from
/// which what follows can be reached (``CameraSlew``), forwards for the times.
struct CameraTrack: Sendable {
    private var sequence = StampSequence()
    /// The sequence at the beginning of each file.
    private var beginnings: [String: StampSequence] = [:]
    /// The current stretch.
    private var current: (stretch: Int, envelope: ArrivalEnvelope)?
    /// Stretches that have ended, as far as they are usable, by number.
    private var envelopes: [Int: ArrivalEnvelope] = [:]
    private var slew = CameraSlew()
    /// Each file's first sample with its admissible times.
    private var openings: [String: (place: CameraSlew.Position, times: ClosedRange<Int64>)] = [:]
    /// The first sample after each file, and of the file read last.
    private var followings: [String: (place: CameraSlew.Position, times: ClosedRange<Int64>)] = [:]
    private var following: (place: CameraSlew.Position, times: ClosedRange<Int64>)?

    /// Samples with timestamps, and without.
    private(set) var stamped = 0
    private(set) var unstamped = 0
    /// Samples whose time is not at their stamp, or that are presented in another order.
    private(set) var unordered = 0
    /// Samples of stretches that are not used.
    private(set) var short = 0
    private(set) var delayed = 0
    /// Seconds in which the envelope is not used, and the duration of all stretches.
    private(set) var distantSeconds = 0
    private(set) var seconds = 0
    /// Ends of stretches where timestamps contradicted the arrivals.
    private(set) var steps = 0
    var hasEnvelopes: Bool { !envelopes.isEmpty }

    init() {}

    // MARK: Envelopes

    mutating func survey(
        _ track: ClockEvidence.Track, _ kind: TrackKind, originNanoseconds: Int64, path: String
    ) {
        sequence.beginFile()
        beginnings[path] = sequence
        for run in track.runs {
            guard let camera = Self.camera(of: run, track, kind, originNanoseconds) else {
                if run.camera == nil { unstamped += 1 } else { unordered += run.sampleTicks.count }
                sequence.interrupt()
                continue
            }
            stamped += camera.stamps.count
            for (index, stamp) in camera.stamps.enumerated() {
                let located = sequence.locate(
                    stamp, clockRate: camera.clockRate, epoch: camera.epoch)
                if current?.stretch != located.stretch {
                    endStretch()
                    current = (
                        located.stretch,
                        ArrivalEnvelope(arrivalNanoseconds: stamp.arrivalNanoseconds)
                    )
                }
                current?.envelope.add(
                    media: located.mediaNanoseconds,
                    arrivalNanoseconds: stamp.arrivalNanoseconds,
                    time: run.stampNanoseconds(at: index, track.timescale))
            }
        }
    }

    /// No file follows.
    mutating func endSurvey() {
        endStretch()
        steps = sequence.steps
        sequence = StampSequence()
    }

    private mutating func endStretch() {
        guard let stretch = current?.stretch, var envelope = current?.envelope else { return }
        current = nil
        envelope.finish()
        switch envelope.fault {
        case .short: short += envelope.samples
        case .delayed: delayed += envelope.samples
        case nil:
            let (all, distant) = envelope.seconds
            seconds += all
            distantSeconds += distant
            envelopes[stretch] = envelope
        }
    }

    /// The stamps of a run, if its samples were recorded at their times, in the order of presentation.
    private static func camera(
        of run: RecordedRun, _ track: ClockEvidence.Track, _ kind: TrackKind,
        _ originNanoseconds: Int64
    ) -> (epoch: EpochID, clockRate: UInt32, stamps: [CameraStamp])? {
        guard let clock = run.clock, let camera = run.camera,
            camera.stamps.count == run.sampleTicks.count
        else { return nil }
        guard run.isInOrder, track.isAsStamped(run, kind, originNanoseconds: originNanoseconds)
        else { return nil }
        return (clock.epoch, camera.clockRate, camera.stamps)
    }

    // MARK: Times

    /// Computes the times of a file's first sample from which all later ones have a solution. Files are passed in reverse.
    mutating func prepare(
        _ track: ClockEvidence.Track, _ kind: TrackKind, originNanoseconds: Int64, path: String
    ) {
        let places = self.places(track, kind, originNanoseconds: originNanoseconds, path: path)
            .flatMap { $0 }
        let times = CameraSlew.reachable(places, following: following)
        followings[path] = following
        guard let first = places.first, let range = times.first else { return }
        openings[path] = (first, range)
        following = (first, range)
    }

    /// The distances of a file's samples from their recorded times, by run; nil: the file, or the run, is not moved.
    mutating func times(
        _ track: ClockEvidence.Track, _ kind: TrackKind, originNanoseconds: Int64, path: String
    ) -> (runs: [[Int64]?], use: RetimingRecord.CameraUse?) {
        let runs = places(track, kind, originNanoseconds: originNanoseconds, path: path)
        let times = CameraSlew.reachable(
            runs.flatMap { $0 }, following: followings[path])
        var rest = times[...]
        var moved: [UInt64] = []
        let shifts = zip(track.runs, runs).map { run, places -> [Int64]? in
            let shifts = places.map { place in
                slew.choose(place, in: rest.removeFirst()).clampedSubtracting(place.agent)
            }
            moved += zip(places, shifts).filter { $0.0.isUsable }.map { $1.magnitude }
            return places.count == run.sampleTicks.count ? shifts : nil
        }
        guard let use = RetimingRecord.CameraUse(shifts: moved) else {
            return (runs.map { _ in nil }, nil)
        }
        return (shifts, use)
    }

    /// The distance of the first sample of a file from its recorded time. The file before it has been processed.
    func opening(_ path: String) -> Int64 {
        guard let (place, times) = openings[path] else { return 0 }
        return slew.time(of: place, in: times).clampedSubtracting(place.agent)
    }

    /// The places of a file's samples, by run; of one without usable timestamps, that of its first sample.
    private func places(
        _ track: ClockEvidence.Track, _ kind: TrackKind, originNanoseconds: Int64, path: String
    ) -> [[CameraSlew.Position]] {
        var sequence = beginnings[path] ?? StampSequence()
        var earliest = track.earliestTicks
        return track.runs.map { run in
            let camera = Self.camera(of: run, track, kind, originNanoseconds)
            guard let camera else {
                sequence.interrupt()
                earliest = nil
                return [
                    CameraSlew.Position(
                        epoch: run.clock?.epoch ?? .none, agent: run.stampNanoseconds)
                ]
            }
            return camera.stamps.enumerated().map { index, stamp in
                let located = sequence.locate(
                    stamp, clockRate: camera.clockRate, epoch: camera.epoch)
                let agent = run.stampNanoseconds(at: index, track.timescale)
                let envelope = envelopes[located.stretch]
                var place = CameraSlew.Position(
                    epoch: camera.epoch, agent: agent, stretch: located.stretch)
                // An envelope is never above its arrivals, unless it has too many corners.
                place.envelope = envelope.map {
                    min($0.time(at: located.mediaNanoseconds), stamp.arrivalNanoseconds)
                }
                // Beyond the quick packets at both ends, it depends on the first or the last one alone.
                place.mayBeLater = envelope?.isInside(located.mediaNanoseconds) ?? false
                place.isUsable = envelope?.isUsable(at: located.mediaNanoseconds) ?? false
                if let ticks = earliest {
                    let room = track.timescale.nanoseconds(max(0, run.firstTicks &- ticks))
                    place.earliest = agent.clampedSubtracting(room)
                    earliest = nil
                }
                return place
            }
        }
    }
}

extension EpochID {
    /// Stands for the epoch in recordings without exchanges; no agent has it.
    fileprivate static let none = EpochID(high: 0, low: 0)
}
