package import ArgumentParser

/// Options of services for a configuration file and its validation.
package struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .customLong("config"),
        help: ArgumentHelp(
            """
            Read options from a YAML file with one line 'name: value' for each. The command line and the environment take \
            precedence.
            """, valueName: "file"))
    package var path: String?

    @Flag(
        name: .customLong("check-config"),
        help: "Check the options and exit.")
    package var checks = false

    package init() {}
}
