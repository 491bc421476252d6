/// Fetches one page over HTTP, on the calling thread.
package enum PageFetch {
    /// - Throws: one phrase.
    package static func get(
        _ address: String, maximumBytes: Int, deadlineNanoseconds: Int64
    ) throws(TransportFailure) -> (status: Int, body: [UInt8]) {
        let answer = try HTTPTransport().exchange(
            StoreRequest(
                method: .get, address: address, headers: [("Accept", "application/json")],
                body: ObjectBytes([]), maximumAnswerBytes: maximumBytes,
                deadlineNanoseconds: deadlineNanoseconds))
        return (answer.status, answer.body)
    }
}
