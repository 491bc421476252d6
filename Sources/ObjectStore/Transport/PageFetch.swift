/// One HTTP exchange with a server that is no object store, on the calling thread.
package enum PageFetch {
    /// - Parameter json: posted to the address; nil: the page is read.
    /// - Throws: one phrase.
    package static func exchange(
        _ address: String, posting json: [UInt8]? = nil, maximumBytes: Int,
        deadlineNanoseconds: Int64
    ) throws(TransportFailure) -> (status: Int, body: [UInt8]) {
        let type = json == nil ? "Accept" : "Content-Type"
        let answer = try HTTPTransport().exchange(
            StoreRequest(
                method: json == nil ? .get : .post, address: address,
                headers: [(type, "application/json")], body: ObjectBytes(json ?? []),
                maximumAnswerBytes: maximumBytes, deadlineNanoseconds: deadlineNanoseconds))
        return (answer.status, answer.body)
    }
}
