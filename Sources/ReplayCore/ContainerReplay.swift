package import Archive
package import Containers
import Media
import Messaging

/// Plays recordings again into a container: a file, standard output, or a server that takes a stream (module `Containers`).
package final class ContainerReplay {
    /// Where to, and how.
    package struct Settings: Sendable {
        package var destination: ContainerDestination
        package var format: ContainerFormat
        package var speed: ReplaySpeed
        package var loops: Bool
        /// Session time, nanoseconds.
        package var from: Int64?
        package var until: Int64?

        package init(
            destination: ContainerDestination, format: ContainerFormat, speed: ReplaySpeed,
            loops: Bool, from: Int64?, until: Int64?
        ) {
            self.destination = destination
            self.format = format
            self.speed = speed
            self.loops = loops
            self.from = from
            self.until = until
        }
    }

    /// How long the thread sleeps at most.
    private static let tickNanoseconds: Int64 = 50_000_000
    /// poll(2) counts in milliseconds; what is due sooner is slept for exactly.
    private static let fineNanoseconds: Int64 = 2_000_000
    private static let statusNanoseconds: Int64 = 100_000_000

    private let settings: Settings
    private let control: ReplayControl
    private let cancellation: Cancellation
    private var pacer: ReplayPacer?
    private var isPaused = false
    private var isStopped = false
    private var status = ReplayStatus()
    private var meter = LatenessMeter()
    private var nextStatus: Int64 = 0

    /// - Parameters:
    ///   - control: what other threads steer it by.
    ///   - cancellation: ends a write that blocks.
    package init(settings: Settings, control: ReplayControl, cancellation: Cancellation) {
        self.settings = settings
        self.control = control
        self.cancellation = cancellation
    }

    /// Writes everything. Blocks its thread.
    package func run(_ sources: [RecordedSource]) throws(ReplayError) -> ReplayOutcome {
        do {
            try play(sources)
            publish(force: true)
            return .complete
        } catch let error as ContainerError {
            if case .cancelled = error { return .failed("given up before the end") }
            return .failed("\(error)")
        } catch let error as ReplayError {
            throw error
        } catch {
            throw ReplayError("\(error)")
        }
    }

    private func merge(_ sources: [RecordedSource]) throws -> SampleMerge {
        try SampleMerge(sources, from: settings.from, to: settings.until)
    }

    private func play(_ sources: [RecordedSource]) throws {
        var samples = try merge(sources)
        guard !samples.tracks.isEmpty else { throw ReplayError.nothing }
        var options = ContainerWriterOptions()
        if settings.speed != .unlimited {
            options.interleaving = .asWritten
            options.flushesPackets = true
        }
        var writer = try ContainerWriter(
            to: settings.destination, format: settings.format,
            tracks: samples.tracks.map { try ContainerTrack($0.format) }, options: options,
            cancellation: cancellation)
        do {
            let start = samples.startNanoseconds
            status.rounds = 1
            var offset = -start
            var end = start
            while !isStopped {
                while let (track, sample) = try samples.next() {
                    guard try wait(until: sample.dtsNanoseconds + offset + start) else { break }
                    try write(sample, track, offset, to: &writer)
                    end = max(end, sample.endNanoseconds)
                    status.positionNanoseconds = sample.dtsNanoseconds
                }
                guard settings.loops, !isStopped, end > start else { break }
                samples = try merge(sources)
                offset += end - start
                status.rounds += 1
            }
        } catch  where !(error is ContainerError) {
            // What was written before is a whole file.
            try writer.finish()
            throw error
        }
        try writer.finish()
    }

    private func write(
        _ sample: RecordedSample, _ track: Int, _ offset: Int64, to writer: inout ContainerWriter
    ) throws {
        let shift = try rescale(
            offset, from: .nanoseconds, to: sample.timescale, rounding: .up)
        let bytes = try sample.read()
        try bytes.withUnsafeBytes { memory in
            try writer.write(
                ContainerPacket(
                    track: track, pts: sample.ptsTicks + shift, dts: sample.dtsTicks + shift,
                    duration: sample.durationTicks, isKeyframe: sample.flags.contains(.keyframe),
                    isDiscarded: sample.flags.contains(.priming), bytes: memory))
        }
        status.sentSamples += 1
        status.sentBytes += UInt64(bytes.count)
        status.isFlowing = true
    }

    /// Waits until a moment of the recording is due.
    /// - Returns: false when the replay is to end.
    private func wait(until media: Int64) throws -> Bool {
        while true {
            let now = ReplayClock.now()
            follow(control.takeWishes(), next: media, now: now)
            publish()
            guard !isStopped else { return false }
            var pacer = pacer ?? ReplayPacer(speed: settings.speed, from: media, now: now)
            if self.pacer == nil, isPaused { pacer.pause(now: now) }
            self.pacer = pacer
            if let due = pacer.due(media) {
                let rest = due == .min ? 0 : due - now
                if rest <= Self.fineNanoseconds {
                    if rest > 0 { ReplayClock.sleep(until: due) }
                    if due > .min { meter.add(ReplayClock.now() - due) }
                    return true
                }
                try sleep(min(rest - Self.fineNanoseconds, Self.tickNanoseconds))
            } else {
                try sleep(Self.tickNanoseconds)
            }
        }
    }

    private func sleep(_ nanoseconds: Int64) throws {
        var poller = Poller()
        _ = poller.add(descriptor: control.wakeUp.descriptor)
        _ = try poller.wait(milliseconds: Int(nanoseconds / 1_000_000) + 1)
    }

    private func follow(_ wishes: ReplayControl.Wishes, next media: Int64, now: Int64) {
        if wishes.isPaused != isPaused {
            isPaused = wishes.isPaused
            if isPaused { pacer?.pause(now: now) } else { pacer?.resume(now: now, next: media) }
        }
        if wishes.steps > 0 { pacer?.step(to: media, now: now) }
        if wishes.isStopping { isStopped = true }
    }

    private func publish(force: Bool = false) {
        let now = ReplayClock.now()
        guard force || now >= nextStatus else { return }
        nextStatus = now + Self.statusNanoseconds
        status.isPaused = isPaused
        if force { status.lateness = meter.lateness }
        control.setStatus(status)
    }
}
