/// A load's results, as lines of JSON.
struct LoadReport {
    private var since: Int64
    private var all = Delays()

    /// - Parameter since: when the load began.
    init(since: Int64) { self.since = since }

    /// Results since the last line.
    mutating func take(_ boxes: [LoadSource]) -> String {
        var delays = Delays()
        for box in boxes { delays.add(box.takeDelays()) }
        all.add(delays)
        let now = now()
        defer { since = now }
        return line(boxes, delays, seconds: Double(now - since) / 1e9)
    }

    /// Total results.
    mutating func finish(_ boxes: [LoadSource]) -> String {
        for box in boxes { all.add(box.takeDelays()) }
        return line(boxes, all, seconds: Double(now() - since) / 1e9)
    }

    private func line(_ boxes: [LoadSource], _ delays: Delays, seconds: Double) -> String {
        let bytes = boxes.reduce(0) { $0 + $1.sentBytes }
        let samples = boxes.reduce(0) { $0 + $1.sentSamples }
        let connections = boxes.reduce(0) { $0 + $1.connections }
        return """
            {"seconds": \(seconds), "flowing": \(boxes.count(where: \.isFlowing)), "connections": \(connections), \
            "bytes": \(bytes), "samples": \(samples), "persisted_ms": \(delays.json)}
            """
    }
}
