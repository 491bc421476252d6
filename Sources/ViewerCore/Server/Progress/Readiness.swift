import Accounts
import Archive
import ExportCore
import HTTPTypes
import Library
import Media
import Operations
import Recordings
import Synchronization

/// Health check for `/readyz`: lists the sessions and extracts a picture of the newest ones, as requests do.
///
/// A check is answered within a bounded time, even if disk or store hang. Its result is shared by concurrent and later requests, so
/// frequent checks are cheap.
final class Readiness: Sendable {
    /// Below the timeout of usual probes.
    static let usualPatienceNanoseconds: Int64 = 4_000_000_000
    /// Validity of a result.
    static let keptNanoseconds: Int64 = 10_000_000_000
    /// Sessions whose pictures are tried, the newest first, and sources of all of them: a source may have only sound.
    private static let maximumSessions = 3
    private static let maximumSources = 8
    /// Width of the picture, a thumbnail, in pixels.
    private static let width = 160
    /// Heavy work of readiness checks queues as that of an unknown address.
    private static let owner = WorkOwner.network(RemoteNetwork(""))

    private enum Step: String {
        case list = "the list of sessions"
        case picture = "a picture"
    }

    private struct State {
        var latest: (answer: HealthAnswer, nanoseconds: Int64)?
        /// The running step, and its start.
        var step: (name: Step, nanoseconds: Int64)?
    }

    private let site: ViewerSite
    private let patienceNanoseconds: Int64
    private let flight = SingleFlight<HealthAnswer>()
    private let state = Mutex(State())

    init(
        _ site: ViewerSite, patienceNanoseconds: Int64 = Readiness.usualPatienceNanoseconds
    ) {
        self.site = site
        self.patienceNanoseconds = patienceNanoseconds
    }

    /// The result of a check, which may be a recent one.
    func answer() async -> HealthAnswer {
        let now = SystemClock.monotonic.nowNanoseconds
        let (latest, step) = state.withLock { ($0.latest, $0.step) }
        if let latest, now - latest.nanoseconds < Self.keptNanoseconds { return latest.answer }
        if let step, now - step.nanoseconds >= patienceNanoseconds { return late(now) }
        return await withTaskGroup(of: HealthAnswer?.self) { group in
            group.addTask { [self] in
                do {
                    return try await flight.value { [self] in await look() }
                } catch {
                    // The other task was first.
                    return nil
                }
            }
            group.addTask { [self] in
                do {
                    try await Task.sleep(for: .nanoseconds(patienceNanoseconds))
                } catch {
                    return nil
                }
                return late(SystemClock.monotonic.nowNanoseconds)
            }
            defer { group.cancelAll() }
            return (await group.next() ?? nil) ?? late(now)
        }
    }

    private func late(_ now: Int64) -> HealthAnswer {
        let step = state.withLock { $0.step }
        let seconds = step.map { max(1, (now - $0.nanoseconds) / 1_000_000_000) } ?? 1
        return HealthAnswer(
            isWell: false,
            text: "\((step?.name ?? .list).rawValue) has not come for \(seconds) s: see the disk, "
                + "the catalog and the store of the archive")
    }

    private func begin(_ step: Step) {
        let now = SystemClock.monotonic.nowNanoseconds
        state.withLock { $0.step = (step, now) }
    }

    private func look() async -> HealthAnswer {
        begin(.list)
        let answer = await found()
        let now = SystemClock.monotonic.nowNanoseconds
        state.withLock { state in
            state.step = nil
            state.latest = (answer, now)
        }
        return answer
    }

    private func found() async -> HealthAnswer {
        do {
            let sources = try await site.read { library in
                try library.sessions().suffix(Self.maximumSessions).reversed()
                    .flatMap { listing in
                        listing.sources.map { SourceKey(session: listing.session, source: $0) }
                    }.prefix(Self.maximumSources)
            }
            begin(.picture)
            guard let problem = try await problem(ofAll: Array(sources)) else {
                return HealthAnswer(isWell: true, text: "ready")
            }
            return HealthAnswer(isWell: false, text: "no picture: \(problem.text)")
        } catch let problem as Problem {
            return HealthAnswer(isWell: false, text: "no list of sessions: \(problem.text)")
        } catch {
            return HealthAnswer(isWell: false, text: "the viewer is being stopped")
        }
    }

    /// Why none of these sources has a picture; nil: one of them has, or none can be expected.
    private func problem(ofAll sources: [SourceKey]) async throws -> Problem? {
        var latest: Problem?
        for source in sources {
            do {
                try await site.runHeavy(for: Self.owner) {
                    try await site.read { try Self.makePicture(of: source, in: $0) }
                }
                return nil
            } catch let problem as Problem {
                // A source without video, or one that was removed.
                if problem.status != .notFound { latest = problem }
            }
        }
        return latest
    }

    /// Extracts a picture from a source's last files, or else from its first one.
    /// - Throws: 404 where it has none.
    private static func makePicture(of key: SourceKey, in library: RecordingLibrary) throws {
        let recording = try library.recording(key.session)
        guard let source = recording.source(key.source) else { throw ViewerSite.noRecording }
        let files = try source.files.suffix(2).reversed().filter {
            try $0.opened().format(.video) != nil
        }
        guard !files.isEmpty else { throw ViewerSite.noRecording }
        // A second after its beginning, a file has pictures if it has any.
        let instants = files.map { $0.originNanoseconds.clampedAdding(1_000_000_000) as Int64? }
        for instant in instants + [nil] {
            do {
                let range = ExportRange(
                    source: source, sessionZero: recording.zero, startNanoseconds: instant,
                    tracks: [.video])
                _ = try PictureExtraction.jpeg(range, maximumWidth: width)
                return
            } catch ExportError.nothingThere {
                continue
            } catch ExportError.noTrack {
                throw Problem(.serviceUnavailable, "its pictures cannot be decoded")
            }
        }
        throw ViewerSite.noRecording
    }
}
