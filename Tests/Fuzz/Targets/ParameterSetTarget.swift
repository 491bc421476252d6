import Media

/// Arbitrary NAL units added to the table of parameter sets: each is stored or refused, and the table stays within its
/// limits and can be encoded.
enum ParameterSetTarget {
    static func run(_ bytes: [UInt8], _ codec: VideoCodec) {
        var input = InputReader(bytes)
        var table = ParameterSetTable(codec)
        while !input.isAtEnd {
            let nalUnit = input.block()
            let before = table
            do throws(BitstreamError) {
                let change = try table.insert(nalUnit)
                let key = try ParameterSetTable.key(of: nalUnit, codec)
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
        for key in table.keys where key.kind == .sequence {
            do throws(BitstreamError) {
                let format = try table.format(active: key.id, orientation: .upright)
                precondition(!format.codec.coding.codecText(format).isEmpty)
                let record = try format.record()
                let again = try VideoFormat(table.codec, extradata: record)
                precondition(again == format, "a description is read back as another one")
                let described = try ParameterSetTable(again)
                precondition(described.pictures(key.id) == table.pictures(key.id))
            } catch {
                // Without sets of all kinds there is no description.
                let kinds = Set(table.keys.map(\.kind))
                precondition(
                    !kinds.isSuperset(of: table.codec.coding.neededSets),
                    "sets that cannot be described: \(error)")
            }
        }
    }
}
