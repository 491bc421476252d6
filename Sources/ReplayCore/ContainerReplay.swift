import Archive
package import Containers
import Library
import Media
import Messaging
package import Recordings

/// Plays recordings again into a container: a file, standard output, or a streaming server (module `Containers`).
package final class ContainerReplay {
    /// Destination and settings.
    package struct Settings: Sendable {
        package var destination: ContainerDestination
        package var format: ContainerFormat
        package var speed: ReplaySpeed
        package var loops: Bool
        /// Files that are there already may be replaced.
        package var overwrites = false
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

    /// Maximum sleep of the thread.
    private static let tickNanoseconds: Int64 = 50_000_000
    /// Below this, sleeps precisely instead of polling, because poll(2) has a resolution of milliseconds.
    private static let fineNanoseconds: Int64 = 2_000_000
    private static let statusNanoseconds: Int64 = 100_000_000

    private let settings: Settings
    private let control: ReplayControl
    private let cancellation: Cancellation
    private var pacer: ReplayPacer?
    private var isPaused = false
    /// Requested steps that are still to be made.
    private var steps = 0
    private var isStopped = false
    private var status = ReplayStatus()
    private var meter = LatenessMeter()
    private var nextStatus: Int64 = 0

    /// - Parameters:
    ///   - control: controls the replay from other threads.
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
            if case .cancelled = error { return .failed("cancelled before the end") }
            return .failed("\(error)")
        } catch let error as ReplayError {
            throw error
        } catch let error as ArchiveError {
            throw ReplayError(reading: error)
        } catch {
            throw ReplayError("\(error)")
        }
    }

    private func merge(_ sources: [RecordedSource]) throws -> SampleMerge {
        try SampleMerge(sources, from: settings.from, to: settings.until)
    }

    private func play(_ sources: [RecordedSource]) throws {
        var samples = try merge(sources)
        guard !samples.formats.isEmpty else { throw ReplayError.nothing }
        var options = ContainerWriterOptions()
        if settings.speed != .unlimited {
            options.interleaving = .asWritten
            options.flushesPackets = true
        }
        let output = ContainerOutput(
            settings.destination, format: settings.format, overwrites: settings.overwrites,
            options: options, cancellation: cancellation)
        let start = samples.startNanoseconds
        try output.follow(samples.formats, at: start)
        status.isFlowing = true
        do {
            status.rounds = 1
            var offset = -start
            var end = start
            while !isStopped {
                while let next = try samples.next() {
                    let sample = next.sample
                    guard try wait(until: sample.dtsNanoseconds + offset + start) else { break }
                    if next.beginsFormat {
                        try output.follow(samples.formats, at: sample.dtsNanoseconds)
                    }
                    let bytes = try sample.read()
                    try output.write(sample, bytes, track: next.track, offset: offset)
                    status.sentSamples += 1
                    status.sentBytes += UInt64(bytes.count)
                    end = max(end, sample.endNanoseconds)
                    status.positionNanoseconds = sample.dtsNanoseconds
                }
                guard settings.loops, !isStopped, end > start else { break }
                samples = try merge(sources)
                try output.follow(samples.formats, at: start)
                offset += end - start
                status.rounds += 1
            }
        } catch  where !(error is ContainerError) {
            // The output so far becomes a valid file.
            try output.finish()
            throw error
        }
        try output.finish()
        status.files = output.files
    }

    /// Waits until a moment of the recording is due.
    /// - Returns: false when the replay is to end.
    private func wait(until media: Int64) throws -> Bool {
        while true {
            let now = SystemClock.monotonic.nowNanoseconds
            follow(control.takeRequests(), next: media, now: now)
            publish()
            guard !isStopped else { return false }
            var pacer = pacer ?? ReplayPacer(speed: settings.speed, from: media, now: now)
            if self.pacer == nil, isPaused { pacer.pause(now: now) }
            if steps > 0, pacer.due(media) == nil {
                steps -= 1
                pacer.step(to: media, now: now)
            }
            self.pacer = pacer
            if let due = pacer.due(media) {
                let rest = due == .min ? 0 : due - now
                if rest <= Self.fineNanoseconds {
                    if rest > 0 { SystemClock.sleep(untilMonotonicNanoseconds: due) }
                    if due > .min { meter.add(SystemClock.monotonic.nowNanoseconds - due) }
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

    private func follow(_ requests: ReplayControl.Requests, next media: Int64, now: Int64) {
        if requests.isPaused != isPaused {
            isPaused = requests.isPaused
            if isPaused { pacer?.pause(now: now) } else { pacer?.resume(now: now, next: media) }
        }
        steps = isPaused ? steps + requests.steps : 0
        if requests.isStopping { isStopped = true }
    }

    private func publish(force: Bool = false) {
        let now = SystemClock.monotonic.nowNanoseconds
        guard force || now >= nextStatus else { return }
        nextStatus = now + Self.statusNanoseconds
        status.isPaused = isPaused
        if force { status.lateness = meter.lateness }
        control.setStatus(status)
    }
}
