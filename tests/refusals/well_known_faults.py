"""What health and reflection say of what is not there."""

REFLECTION = {
    "file": "file_by_filename: 'no/such.proto'",
    "symbol": "file_containing_symbol: 'no.Such'",
    "extended_type": "file_containing_extension { containing_type: 'no.Such' extension_number: 1 }",
    "extension": "file_containing_extension { containing_type: 'google.protobuf.FileOptions' }",
    "type_of_extensions": "all_extension_numbers_of_type: 'no.Such'",
    "nothing": "host: 'here'",
}


def well_known(client):
    yield "name/Check", client.ask("Check", "service: 'other'")
    for name, asked in REFLECTION.items():
        yield f"{name}/ServerReflectionInfo", client.ask("ServerReflectionInfo", asked)
