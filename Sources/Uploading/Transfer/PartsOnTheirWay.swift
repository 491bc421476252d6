import ObjectStore
import Synchronization
import Threads

/// The parts of one segment in flight, each on its own thread.
struct PartsOnTheirWay: ~Copyable {
    private final class Helper: Sendable {
        let thread = JoinableThread()
        let outcome = Mutex<Result<PartSending.Sent, UploadError>?>(nil)
    }

    private var helpers: [Int: Helper] = [:]
    /// Reused buffers of sent parts, because allocating memory is expensive.
    private var spares: [ObjectBytes] = []

    /// Whether a part was started and not waited for.
    func contains(_ index: Int) -> Bool { helpers[index] != nil }

    mutating func start(_ part: PartSending) {
        let helper = Helper()
        let spare = Mutex(spares.popLast())
        helpers[part.index] = helper
        helper.thread.start("upload part") {
            let outcome: Result<PartSending.Sent, UploadError>
            do throws(UploadError) {
                outcome = .success(try part.run(in: spare.withLock { $0.take() }))
            } catch {
                outcome = .failure(error)
            }
            helper.outcome.withLock { $0 = outcome }
        }
    }

    /// Waits until a part that was started is in the store.
    mutating func wait(for index: Int) throws(UploadError) -> PartSending.Sent {
        guard let helper = helpers.removeValue(forKey: index) else {
            preconditionFailure("a part is started before it is waited for")
        }
        helper.thread.join()
        guard let outcome = helper.outcome.withLock({ $0.take() }) else {
            preconditionFailure("a thread that has ended has an outcome")
        }
        let sent = try outcome.get()
        spares.append(sent.bytes)
        return sent
    }

    /// Waits for all started parts after an earlier one failed, and releases their memory.
    /// - Returns: the uploaded ones, in order. Others are found later: the work ends with the first error.
    mutating func waitForAll() -> [PartSending.Sent] {
        var arrived: [PartSending.Sent] = []
        for index in helpers.keys.sorted() {
            do throws(UploadError) {
                arrived.append(try wait(for: index))
            } catch {
                continue
            }
        }
        spares = []
        return arrived
    }
}
