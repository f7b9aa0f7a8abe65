# Turns a header into a C array: cmake -DOUTPUT=FILE.c -DHEADER=plugin.h -P embed_header.cmake
file(READ ${HEADER} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE ${OUTPUT} "#include \"compile/compiler.h\"\nconst char tn_compiler_plugin_header[] = {${bytes}0};\n")
