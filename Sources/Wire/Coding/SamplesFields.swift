/// The unchecked fields of Samples.
///
/// Samples are nearly all that a collector receives. In the encoding of the usual encoders, they are decoded here, several times
/// faster than by the general decoder. For anything else (an unknown field, a repeated field, a column that is not packed), this
/// decoder gives up, and the general decoder is used.
struct SamplesFields {
    var source: UInt32 = 0
    var firstSequence: UInt64 = 0
    var epoch: UInt32 = 0
    var payloadSHA256: [UInt8] = []
    var runs: [Tributary_V1_Run] = []
}

extension SamplesFields {
    /// Decodes a header part; nil unless it contains Samples in the usual encoding.
    init?(header: [UInt8]) {
        guard let content = EnvelopeTag.content(of: header, tag: EnvelopeTag.samples),
            var reader = FieldReader(header, content)
        else { return nil }
        self.init()
        // Encoders write fields in the order of their numbers, each once.
        var last: UInt64 = 0
        while !reader.isAtEnd {
            guard let tag = reader.tag(), tag.number > last || tag.number == 5 && last == 5,
                read(tag, &reader, header)
            else { return nil }
            last = tag.number
        }
    }

    private mutating func read(
        _ tag: FieldReader.Tag, _ reader: inout FieldReader, _ header: [UInt8]
    ) -> Bool {
        switch (tag.number, tag.isLengthDelimited) {
        case (1, false): return set(&source, reader.varint().flatMap(UInt32.init(exactly:)))
        case (2, false): return set(&firstSequence, reader.varint())
        case (3, false): return set(&epoch, reader.varint().flatMap(UInt32.init(exactly:)))
        case (4, true): return set(&payloadSHA256, reader.content().map { Array(header[$0]) })
        case (5, true):
            guard let range = reader.content(),
                let run = Tributary_V1_Run(fieldsOf: header, range)
            else { return false }
            runs.append(run)
            return true
        default: return false
        }
    }
}

extension Tributary_V1_Run {
    fileprivate init?(fieldsOf header: [UInt8], _ range: Range<Int>) {
        guard var reader = FieldReader(header, range) else { return nil }
        self.init()
        var last: UInt64 = 0
        while !reader.isAtEnd {
            guard let tag = reader.tag(), tag.number > last, read(tag, &reader) else { return nil }
            last = tag.number
        }
    }

    private mutating func read(_ tag: FieldReader.Tag, _ reader: inout FieldReader) -> Bool {
        switch (tag.number, tag.isLengthDelimited) {
        case (1, false):
            let kind = reader.varint().flatMap(Int.init(exactly:))
            return set(&track, kind.flatMap(Tributary_V1_TrackKind.init(rawValue:)))
        case (2, false): return set(&firstDts, reader.signedVarint())
        case (3, true): return set(&sizes, reader.column(UInt32.init(exactly:)))
        case (4, true): return set(&dtsSteps, reader.column(FieldReader.signed))
        case (5, true): return set(&ptsOffsets, reader.column { $0 })
        case (6, true): return set(&durations, reader.column { $0 })
        case (7, true): return set(&flags, reader.column(UInt32.init(exactly:)))
        default: return false
        }
    }
}

/// Sets a field to a decoded value; returns whether there was one.
private func set<Value>(_ field: inout Value, _ value: Value?) -> Bool {
    guard let value else { return false }
    field = value
    return true
}
