# Turns the style and the script of a report's page into C: cmake -DOUTPUT=... -DFOLDER=... -P embed_page.cmake
set(text "extern const char report_page_css[], report_page_js[];\n")
foreach(name css js)
    file(READ ${FOLDER}/page.${name} bytes HEX)
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "(char)0x\\1," bytes "${bytes}")
    string(APPEND text "const char report_page_${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
