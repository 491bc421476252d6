package import Archive
package import ObjectStore

/// An archive and its store, with pacing and stopping of transfers.
package struct UploadTarget: Sendable {
    /// Maximum single wait for recording or for the rate limit, after which a stop is noticed.
    private static let patienceNanoseconds: Int64 = 200_000_000

    package let bucket: any ObjectBucket
    package let layout: ArchiveLayout
    let settings: UploadSettings
    var surroundings: UploadSurroundings
    private let limit: SharedRateLimit
    private let figures: UploadFigures

    package init(
        _ bucket: any ObjectBucket, _ layout: ArchiveLayout, settings: UploadSettings,
        surroundings: UploadSurroundings, figures: UploadFigures
    ) {
        self.bucket = bucket
        self.layout = layout
        self.settings = settings
        self.surroundings = surroundings
        self.figures = figures
        limit = SharedRateLimit(bytesPerSecond: settings.bytesPerSecond)
    }

    /// Continues with a step, or throws to end the work: recording has priority.
    func pass(_ step: UploadStep) throws(UploadError) {
        try check(step)
        while surroundings.mustGiveWay() {
            surroundings.sleep(Self.patienceNanoseconds)
            try check(step)
        }
    }

    /// Like ``pass(_:)``, for a step that permanently removes an object from the store.
    func passRemoval(_ step: UploadStep) throws(UploadError) {
        try pass(step)
        guard surroundings.mayRemove() else { throw .notEntitled }
    }

    private func check(_ step: UploadStep) throws(UploadError) {
        do throws(UploadStop) {
            try surroundings.checkpoint(step)
        } catch {
            throw .stopped
        }
    }

    /// Waits until this many bytes may be sent.
    func pace(_ bytes: Int) throws(UploadError) {
        var rest = limit.claim(bytes, now: surroundings.now())
        while rest > 0 {
            let now = surroundings.now()
            surroundings.sleep(min(rest, Self.patienceNanoseconds))
            rest -= max(1, surroundings.now() - now)
            try check(.part)
        }
    }

    func sent(_ bytes: Int) { figures.add(bytes: bytes) }

    /// Runs a request to the store.
    func store<Result>(
        _ body: (any ObjectBucket) throws(ObjectStoreError) -> Result
    ) throws(UploadError) -> Result {
        do throws(ObjectStoreError) {
            let result = try body(bucket)
            figures.addAnswer()
            return result
        } catch {
            if error.kind == .stopped { throw .stopped }
            if !error.kind.isForStore { figures.addAnswer() }
            throw .store(error)
        }
    }

    /// Repeats work that can be begun again while the store is busy or unreachable: for a minute.
    package func patiently<Result>(
        _ work: () throws(UploadError) -> Result
    ) throws(UploadError) -> Result {
        let end = surroundings.now() + UploadQueue.briefOutageNanoseconds
        var failures = 0
        while true {
            do throws(UploadError) {
                return try work()
            } catch {
                guard case .store(let refusal) = error, refusal.kind.mayPass else { throw error }
                failures += 1
                let pause = max(
                    Backoff.store.pause(after: failures, draw: surroundings.random()),
                    refusal.retryAfterNanoseconds ?? 0)
                guard surroundings.now() + pause < end else { throw error }
                surroundings.sleep(pause)
            }
        }
    }

    /// Uses the archive's disk.
    func disk<Result>(
        _ body: () throws(ArchiveError) -> Result
    ) throws(UploadError) -> Result {
        do throws(ArchiveError) {
            return try body()
        } catch {
            throw .archive(error)
        }
    }
}

extension UploadError {
    /// The store's error; nil for other errors.
    var kind: ObjectStoreError.Kind? {
        if case .store(let error) = self { error.kind } else { nil }
    }
}
