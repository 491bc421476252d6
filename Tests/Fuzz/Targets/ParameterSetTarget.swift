import Media

/// Arbitrary NAL units added to the table of parameter sets: each is stored or refused, and the table stays within its
/// limits and can be encoded.
enum ParameterSetTarget {
    static func run(_ bytes: [UInt8]) {
        var input = InputReader(bytes)
        var table = ParameterSetTable()
        while !input.isAtEnd {
            let nalUnit = input.block()
            let before = table
            do throws(BitstreamError) {
                let change = try table.insert(nalUnit)
                let key = try ParameterSetTable.key(of: nalUnit)
                precondition((change == .none) == (table == before))
                guard let key else {
                    precondition(change == .none, "no set changed the table")
                    continue
                }
                precondition(table[key] == nalUnit, "a set is not under its identifier")
                let again = try table.insert(nalUnit)
                precondition(again == .none, "a set replaces itself")
            } catch {
                precondition(table == before, "a refused set changed the table")
                precondition(!error.description.isEmpty)
            }
        }
        let sets = table.keys.compactMap { table[$0] }
        precondition(table.keys.count <= 32 + 256)
        precondition(sets.reduce(0) { $0 + $1.count } <= ParameterSetTable.maximumBytes)
        describe(table)
    }

    private static func describe(_ table: ParameterSetTable) {
        for case .sequence(let id) in table.keys {
            do throws(BitstreamError) {
                let format = try table.format(active: id, orientation: .upright)
                let record = try AVCDecoderConfiguration(format).bytes()
                let again = try H264Format(extradata: record)
                precondition(again == format, "a description is read back as another one")
                let described = try ParameterSetTable(again)
                precondition(described.sequence(id) == table.sequence(id))
            } catch {
                // Without picture parameter sets there is no description.
                let hasPictures = table.keys.contains {
                    if case .picture = $0 { true } else { false }
                }
                precondition(!hasPictures, "sets that cannot be described: \(error)")
            }
        }
    }
}
