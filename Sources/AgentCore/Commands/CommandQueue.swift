import Dispatch
import Logging
import Media
import Synchronization
import Threads
import Wire

/// Executes commands to a running agent in order, on a separate thread: opening a camera takes time, for which neither the
/// connection nor the capture may wait.
final class CommandQueue: Sendable {
    /// Gets the answer, and a snapshot's JPEG with it.
    typealias Answer = @Sendable (CommandReply, [UInt8]) -> Void

    private struct Job {
        var request: CommandRequest
        var asker: String
        var answer: Answer
    }

    private struct State {
        var jobs: [Job] = []
        var isOpen = false
        var isClosed = false
    }

    /// Queue limit: the commands of two connections.
    private static let maximumJobs = 2 * WireLimits.openCommands

    private let capture: CaptureSession
    private let uplink: @Sendable () -> UplinkStatus
    private let software: String
    private let logger: Logger
    private let state = Mutex(State())
    private let isThere = Semaphore(value: 0)

    /// - Parameter uplink: returns the state of the connection.
    init(
        capture: CaptureSession, software: String, logger: Logger,
        uplink: @escaping @Sendable () -> UplinkStatus
    ) {
        self.capture = capture
        self.software = software
        self.logger = logger
        self.uplink = uplink
    }

    /// Starts execution; commands are queued before that.
    func open() {
        state.withLock { $0.isOpen = true }
        NamedThread.start("commands") { [self] in
            while true {
                isThere.wait()
                let job = state.withLock { state in
                    state.jobs.isEmpty ? nil : state.jobs.removeFirst()
                }
                guard let job else { return }
                let (reply, payload) = perform(job)
                job.answer(reply, payload)
            }
        }
    }

    /// Executes queued commands, and ends. If it was never opened, they are refused.
    func close() {
        let refused = state.withLock { state in
            state.isClosed = true
            guard !state.isOpen else { return [Job]() }
            defer { state.jobs.removeAll() }
            return state.jobs
        }
        for job in refused { Self.refuse(job.answer) }
        isThere.signal()
    }

    private static func refuse(_ answer: Answer) {
        answer(.failure(.refused, "the agent is stopping"), [])
    }

    /// Queues a request. It is answered on the queue's thread, or immediately.
    /// - Parameter asker: origin of the request, for the log.
    func submit(_ request: CommandRequest, from asker: String, answer: @escaping Answer) {
        enum Verdict { case taken, busy, closed }
        let verdict = state.withLock { state in
            if state.isClosed { return Verdict.closed }
            guard state.jobs.count < Self.maximumJobs else { return .busy }
            state.jobs.append(Job(request: request, asker: asker, answer: answer))
            return .taken
        }
        switch verdict {
        case .taken: isThere.signal()
        case .busy: answer(.failure(.busy, "too many commands are waiting: try again later"), [])
        case .closed: Self.refuse(answer)
        }
    }

    private func perform(_ job: Job) -> (CommandReply, [UInt8]) {
        do throws(ChangeError) {
            switch job.request {
            case .status:
                return (.status(status()), [])
            case .controls:
                return (.controls(try capture.controls()), [])
            case .keyframe:
                try capture.requestKeyframe()
                return (.keyframeRequested, [])
            case .snapshot:
                let (description, jpeg) = try capture.snapshot(
                    maximumBytes: WireLimits.snapshotBytes)
                return (.snapshot(description), jpeg)
            case .change(let change):
                try capture.apply(change)
                logger.notice("changed by \(job.asker): \(change.words)")
                for line in capture.descriptions { logger.info("\(line)") }
                return (.status(status()), [])
            case .unknown:
                return (
                    .failure(
                        .unknownCommand, "this agent (\(software)) does not support this command"),
                    []
                )
            }
        } catch {
            switch error {
            case .refused(let text):
                logger.notice("change by \(job.asker) refused: \(text)")
                return (.failure(.refused, text), [])
            case .notRestored(let text):
                logger.error("change by \(job.asker) failed: \(text)")
                return (.failure(.notRestored, text), [])
            }
        }
    }

    private func status() -> CaptureStatus {
        var status = capture.status()
        let uplink = uplink()
        status.isConnected = uplink.isConnected
        status.collector = uplink.collector
        status.second = uplink.mirror.map {
            CaptureStatus.SecondCollector(
                endpoint: $0.collector, isConnected: $0.isConnected, trouble: $0.trouble ?? "")
        }
        status.owed = uplink.owed
        status.lastsSeconds = uplink.lasts.map { UInt64(clamping: $0.components.seconds) }
        status.moved = uplink.moved ?? ""
        status.held = uplink.held
        status.keptBytes = UInt64(clamping: uplink.keptBytes)
        // The uplink's count includes the capture's losses after they are sent.
        status.lostSamples = max(status.lostSamples, uplink.lostSamples)
        status.software = software
        return status
    }
}

extension CaptureChange {
    /// The changes in a few words, for the log.
    var words: String {
        var words: [String] = []
        if let isCapturing { words.append(isCapturing ? "start" : "stop") }
        if let video { words.append("video \(video)") }
        if let audio { words.append("audio \(audio)") }
        switch size {
        case .own: words.append("size of the source")
        case .this(let size): words.append("size \(size)")
        case nil: break
        }
        switch frameRate {
        case .own: words.append("frame rate of the source")
        case .this(let rate): words.append("\(rate) fps")
        case nil: break
        }
        if let videoBitrate { words.append("\(videoBitrate) bit/s") }
        switch crop {
        case .own: words.append("no crop")
        case .this(let crop): words.append("crop \(crop)")
        case nil: break
        }
        if let rotation { words.append("rotated by \(rotation.rawValue)°") }
        if let isMirrored { words.append(isMirrored ? "mirrored" : "not mirrored") }
        words += controls.map { "\($0.name)=\($0.value)" }
        return words.joined(separator: ", ")
    }
}
