package import Containers

/// Cancellation and progress reports of long work.
package struct WorkControl: Sendable {
    /// Cancels the work.
    package let cancellation: Cancellation
    /// Receives the progress; for work in several parts.
    package let report: @Sendable (_ fraction: Double) -> Void

    /// - Parameter report: called often on the working thread, with the completed fraction (0 … 1).
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

    /// Reports progress.
    func progress(_ done: Int64, of total: Int64) {
        report(total > 0 ? min(1, max(0, Double(done) / Double(total))) : 1)
    }
}
