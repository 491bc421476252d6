package import Containers

/// What long work is told, and tells, while it runs.
package struct WorkControl: Sendable {
    /// Ends the work.
    package let cancellation: Cancellation
    private let report: @Sendable (_ fraction: Double) -> Void

    /// - Parameter report: called on the working thread, often, with how much is done (0 … 1).
    package init(
        cancellation: Cancellation = Cancellation(),
        report: @escaping @Sendable (_ fraction: Double) -> Void = { _ in }
    ) {
        self.cancellation = cancellation
        self.report = report
    }

    /// - Throws: ``ExportError/cancelled``.
    func check() throws {
        if cancellation.isCancelled { throw ExportError.cancelled }
    }

    /// Tells how much is done.
    func progress(_ done: Int64, of total: Int64) {
        report(total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1)
    }
}
